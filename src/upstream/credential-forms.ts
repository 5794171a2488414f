/** Shorter secrets have encoded forms that occur by chance. */
const ENCODED_CHARS_MIN = 8
/** Longer texts are searched around what may be encoded only: the pattern takes 20 ns a byte. */
const PATTERN_BYTES_MAX = 256 * 1024
/** Characters of one encoded unit there: escaped three times. */
const UNIT_CHARS_MAX = 16

/** The part of a text's base64 that is the same whatever is before and behind the text. */
const base64Core = (secret: Buffer, before: number): string => {
  const padded = Buffer.concat([Buffer.alloc(before), secret])
  const first = Math.ceil((before * 4) / 3)
  const last = Math.floor((padded.length * 4) / 3)
  return padded.toString('base64').slice(first, last)
}

const encodedForms = (secret: string): string[] => {
  const bytes = Buffer.from(secret)
  if (bytes.length < ENCODED_CHARS_MIN) return []
  const base64 = [0, 1, 2].map(before => base64Core(bytes, before))
  const url = base64.map(form => form.replaceAll('+', '-').replaceAll('/', '_'))
  const hex = bytes.toString('hex')
  return [...base64, ...url, hex, hex.toUpperCase()]
}

const REGEXP_SYNTAX = /[\\^$.*+?()[\]{}|/]/g

/** Letters of both cases for the digits of a hexadecimal number. */
const anyCase = (hex: string): string =>
  hex.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)

/** A pattern of one UTF-16 unit: as it is, percent-encoded or escaped as in JSON. */
const unitPattern = (unit: string): string => {
  const literal = unit.replace(REGEXP_SYNTAX, '\\$&')
  const code = unit.charCodeAt(0).toString(16).padStart(4, '0')
  const percent = unit < '\u0080' ? [`%(?:25)*${anyCase(code.slice(2))}`] : []
  const escaped = /[/"\\]/.test(unit) ? [`\\\\+${literal}`] : []
  return `(?:${[...escaped, literal, ...percent, `\\\\+u${anyCase(code)}`].join('|')})`
}

/** Where a unit of the secret may be encoded: `%`, or a backslash before what it escapes. */
const markPattern = (secret: string): RegExp => {
  const escaped = ['u', ...'/"\\'].filter(unit => unit === 'u' || secret.includes(unit))
  return new RegExp(`%|\\\\[${escaped.join('').replace('\\', '\\\\')}]`, 'g')
}

/** Finds a secret in what a server sends, in every form in which it may repeat its input. */
export class CredentialForms {
  private readonly whole: readonly string[]
  private readonly pattern: RegExp | undefined
  private readonly mark: RegExp
  /** Characters of the longest encoded form. */
  private readonly reach: number

  constructor(secret: string) {
    const json = JSON.stringify(secret).slice(1, -1)
    const forms = [secret, encodeURIComponent(secret), json, ...encodedForms(secret)]
    this.whole = secret === '' ? [] : [...new Set(forms)]
    this.mark = markPattern(secret)
    this.reach = secret.length * UNIT_CHARS_MAX
    this.pattern =
      secret === '' ? undefined : new RegExp([...secret].map(unitPattern).join(''), 'g')
  }

  /** The bytes without the secret; the same object where they do not contain it. */
  cutFrom(bytes: Buffer, replacement: string): Buffer {
    const isFound = this.whole.some(form => bytes.includes(form))
    if (!isFound && !bytes.includes('%') && !bytes.includes('\\')) return bytes
    // latin1 preserves all other bytes.
    const text = bytes.toString('latin1')
    const cut = this.cut(text, replacement)
    return cut === text ? bytes : Buffer.from(cut, 'latin1')
  }

  /** The text without the secret. */
  cut(text: string, replacement: string): string {
    const whole = this.whole.reduce((cleaned, form) => cleaned.replaceAll(form, replacement), text)
    if (this.pattern === undefined) return whole
    return whole.length <= PATTERN_BYTES_MAX
      ? whole.replace(this.pattern, replacement)
      : this.cutAroundMarks(whole, this.pattern, replacement)
  }

  /** Searches only what is near a mark: without one the secret is a whole form. */
  private cutAroundMarks(text: string, pattern: RegExp, replacement: string): string {
    const { mark, reach } = this
    const marks = text.matchAll(mark)
    const parts: string[] = []
    let from = 0
    let next = marks.next()
    while (next.done !== true) {
      const start = Math.max(from, next.value.index - reach)
      let end = next.value.index + reach
      // What overlaps is searched as one.
      for (next = marks.next(); next.done !== true; next = marks.next()) {
        if (next.value.index - reach > end) break
        end = next.value.index + reach
      }
      parts.push(text.slice(from, start), text.slice(start, end).replace(pattern, replacement))
      from = end
    }
    return parts.join('') + text.slice(from)
  }
}
