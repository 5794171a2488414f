import { redactTokens } from '../shared/log.js'

/** Parameters of a failed call that are kept, as bytes of UTF-8. */
export const PARAMS_BYTES_MAX = 1_024
/** A token that begins before the bound is found whole, and hidden. */
const MARGIN_CHARS = 64

/** Who reads a signed transaction can send it, so parameters of these methods are not kept. */
const SIGNED: ReadonlySet<string> = new Set([
  'sendTransaction',
  'simulateTransaction',
  'sendBundle',
  'simulateBundle',
])

/** A text of at most so many bytes of UTF-8, of whole characters. */
export const cutText = (text: string, bytesMax: number): string => {
  const bytes = Buffer.from(text.slice(0, bytesMax))
  let end = Math.min(bytes.length, bytesMax)
  if (end < bytes.length) while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** The beginning of the JSON of a value, of about so many characters: no more of it is visited. */
const beginOf = (value: unknown, charsMax: number): string => {
  let text = ''
  const add = (one: unknown): void => {
    if (text.length >= charsMax) return
    if (typeof one === 'string') text += JSON.stringify(one.slice(0, charsMax))
    else if (typeof one !== 'object' || one === null) text += JSON.stringify(one) ?? 'null'
    else if (Array.isArray(one)) addAll('[', one, ']', add)
    else
      addAll('{', Object.keys(one), '}', key => {
        text += `${JSON.stringify(key.slice(0, charsMax))}:`
        add((one as Readonly<Record<string, unknown>>)[key])
      })
  }
  const addAll = <T>(open: string, all: readonly T[], close: string, addOne: (one: T) => void) => {
    text += open
    for (const [index, one] of all.entries()) {
      if (text.length >= charsMax) return
      if (index > 0) text += ','
      addOne(one)
    }
    text += close
  }
  add(value)
  return text.slice(0, charsMax)
}

/**
 * The first KiB of the parameters of a call as JSON, without tokens; undefined for a method that
 * takes signed transactions. Nesting is bounded by the parser of messages.
 */
export const paramsText = (method: string, params: unknown): string | undefined => {
  if (SIGNED.has(method)) return undefined
  return cutText(redactTokens(beginOf(params, PARAMS_BYTES_MAX + MARGIN_CHARS)), PARAMS_BYTES_MAX)
}
