import { validateHeaderName, validateHeaderValue } from 'node:http'

/** A fault that a dev upstream injects. Each member is independent of the others. */
export type Fault = {
  /** With a status or a body, the request is answered by these and not executed. */
  readonly status?: number
  readonly body?: string
  readonly contentType?: string
  /** Added to the headers of the answer; a name that is there already is replaced. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Wait between the execution of the request and its answer. */
  readonly delayMs?: number
  /** Resets the connection before the request's body is read, or after its execution. */
  readonly reset?: 'before' | 'after'
  /** Sends the body of the answer one byte at a time, with this interval. */
  readonly dripMs?: number
  /** Number of requests that the fault applies to; without it, all. */
  readonly times?: number
}

/** A control request that is not valid; the message says why. */
export class ControlRequestError extends Error {
  override readonly name = 'ControlRequestError'
}

/** One hour: longer than any time-out. */
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

const MEMBERS: Readonly<Record<keyof Fault, (value: unknown) => boolean>> = {
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

const isMember = (name: string): name is keyof Fault => Object.hasOwn(MEMBERS, name)

/** What a control request asks for: to clear all state first, and a fault to inject. */
export type ControlRequest = { readonly isClear: boolean; readonly fault: Fault | undefined }

/** Parses the body of a control request. Throws ControlRequestError. */
export const parseControlRequest = (text: string): ControlRequest => {
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    throw new ControlRequestError('not JSON')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ControlRequestError('not an object')
  const { clear = false, ...members } = given as Record<string, unknown>
  if (typeof clear !== 'boolean') throw new ControlRequestError('clear must be true or false')
  for (const [name, value] of Object.entries(members)) {
    if (!isMember(name)) throw new ControlRequestError(`${name} is unknown`)
    if (!MEMBERS[name](value))
      throw new ControlRequestError(`${name} cannot be ${JSON.stringify(value)}`)
  }
  const isEmpty = Object.keys(members).length === 0
  return { isClear: clear, fault: isEmpty ? undefined : members }
}

/**
 * The bytes of a body given as text: one per character (as received bodies are listed), or UTF-8
 * where a character is above U+00FF.
 */
export const toBodyBytes = (text: string): Buffer =>
  Buffer.from(text, /^[\0-\xff]*$/.test(text) ? 'latin1' : 'utf8')
