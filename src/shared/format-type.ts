/**
 * Characters of a client's text that an error repeats, whatever its length.
 */
const ECHO_CHARS_MAX = 128

/** A client's text as an error repeats it. */
export const formatEcho = (text: string): string =>
  text.length <= ECHO_CHARS_MAX ? text : `${text.slice(0, ECHO_CHARS_MAX)}…`

/**
 * A JSON value as serde names it in `invalid type: …`. Numbers were parsed by JSON.parse: `1.0` is
 * an integer here, and an integer of over 53 bits is rounded.
 */
export const formatType = (value: unknown): string => {
  switch (typeof value) {
    case 'string':
      return `string ${quote(formatEcho(value))}`
    case 'number':
      return isInteger64(value)
        ? `integer \`${formatDigits(value)}\``
        : `floating point \`${formatFloat(value)}\``
    case 'boolean':
      return `boolean \`${value}\``
    default:
      return value === null ? 'null' : Array.isArray(value) ? 'sequence' : 'map'
  }
}

const isInteger64 = (value: number): boolean =>
  Number.isInteger(value) && value >= -(2 ** 63) && value <= 2 ** 64

/** A float as Rust prints it: all digits, never an exponent, always a point. */
const formatFloat = (value: number): string => {
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf'
  const digits = formatDigits(value)
  return digits.includes('.') ? digits : `${digits}.0`
}

const formatDigits = (value: number): string => {
  const text = String(value)
  const [mantissa = '', exponent] = text.split('e')
  if (exponent === undefined) return text
  const sign = mantissa.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const point = Number(exponent)
  // String() uses an exponent only past 21 digits or below 1e-6, so the point is outside of the
  // digits.
  return point > 0
    ? sign + whole + fraction.padEnd(point, '0')
    : `${sign}0.${'0'.repeat(-point - 1)}${whole}${fraction}`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '\\0',
}

/** As Rust's `{:?}` writes a string. */
const quote = (text: string): string => {
  const escaped = text.replace(
    /["\\\u0000-\u001f\u007f-\u009f]/g,
    unit => ESCAPES[unit] ?? `\\u{${unit.charCodeAt(0).toString(16)}}`,
  )
  return `"${escaped}"`
}
