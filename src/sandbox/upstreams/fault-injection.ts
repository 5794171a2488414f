import { validateHeaderName, validateHeaderValue } from 'node:http'

/** What a dev upstream is told to do in place of its work. Every member is about one thing only. */
export type Misbehaviour = {
  /** With a status or a body the request is answered by these and not carried out. */
  readonly status?: number
  readonly body?: string
  readonly contentType?: string
  /** Beside those of the answer, or in their place. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Wait before the answer; what was asked for has happened by then. */
  readonly delayMs?: number
  /** The connection is reset before the request's body is read, or after it was carried out. */
  readonly reset?: 'before' | 'after'
  /** One byte of the answer's body each so many milliseconds. */
  readonly dripMs?: number
  /** So many requests are treated like this, then all is normal again. */
  readonly times?: number
}

/** Why an order is none, in words. */
export class MisbehaviourError extends Error {
  override readonly name = 'MisbehaviourError'
}

/** Bounds of what may be asked for: an hour is longer than any time-out. */
const WAIT_MS_MAX = 3_600_000
const TIMES_MAX = 1_000_000

const isInteger =
  (least: number, most: number) =>
  (value: unknown): boolean =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
const isText = (value: unknown): boolean => typeof value === 'string'

const isHeader = ([name, value]: [string, unknown]): boolean => {
  try {
    validateHeaderName(name)
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one !== 'string') return false
      validateHeaderValue(name, one)
    }
    return true
  } catch {
    return false
  }
}

const MEMBERS: Readonly<Record<keyof Misbehaviour, (value: unknown) => boolean>> = {
  status: isInteger(200, 599),
  body: isText,
  contentType: value => isHeader(['content-type', value]),
  headers: value =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(isHeader),
  delayMs: isInteger(0, WAIT_MS_MAX),
  reset: value => value === 'before' || value === 'after',
  dripMs: isInteger(1, WAIT_MS_MAX),
  times: isInteger(1, TIMES_MAX),
}

/**
 * An order as it was posted: the misbehaviour, `undefined` where it names none, and whether
 * everything before it is forgotten. Throws MisbehaviourError.
 */
export const parseOrder = (
  text: string,
): { readonly isClear: boolean; readonly misbehaviour: Misbehaviour | undefined } => {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    throw new MisbehaviourError('not JSON')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new MisbehaviourError('not an object')
  const { clear = false, ...members } = given as Record<string, unknown>
  if (typeof clear !== 'boolean') throw new MisbehaviourError('clear must be true or false')
  for (const [name, value] of Object.entries(members)) {
    if (!Object.hasOwn(MEMBERS, name)) throw new MisbehaviourError(`${name} is unknown`)
    const isValid = MEMBERS[name as keyof Misbehaviour]
    if (!isValid(value)) throw new MisbehaviourError(`${name} cannot be ${JSON.stringify(value)}`)
  }
  const isEmpty = Object.keys(members).length === 0
  return { isClear: clear, misbehaviour: isEmpty ? undefined : members }
}

/**
 * The bytes of a text that was posted: one for each character, as received bodies are shown, or
 * UTF-8 where that cannot be.
 */
export const toBodyBytes = (text: string): Buffer =>
  Buffer.from(text, /^[\0-\xff]*$/.test(text) ? 'latin1' : 'utf8')
