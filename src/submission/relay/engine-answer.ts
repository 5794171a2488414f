import { isMap, parseJson } from '../../shared/values.js'
import type { Submission } from '../store/submission.js'
import type { UpstreamReply } from '../../upstream/reply.js'

/** How a submission ended, as the engine's answer says. */
export type EngineAnswer = Pick<Submission, 'outcome' | 'result' | 'error' | 'engine' | 'lanes'>

/** A `result` longer than this is no bundle id and no list of signatures. */
const RESULT_CHARS_MAX = 1_024
/** An engine's message is passed on up to this length. Real ones are one line. */
const MESSAGE_CHARS_MAX = 1_024
/** Longer `error.data` is dropped. */
const DATA_CHARS_MAX = 1_024
/** The part of an answer that is stored. */
const WORDS_CHARS_MAX = 1_024

/** The engine's own code for too many requests, which comes with any status and an id of null. */
const RATE_LIMITED = -32_097
const CAPACITY_STATUSES: ReadonlySet<number> = new Set([429, 503])
/** The server had not read the whole request in time, so its outcome is unknown. */
const REQUEST_TIMEOUT = 408

const cut = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`

/**
 * The `error` of an answer as it is passed on; undefined where there is none that a client could
 * read.
 */
const toError = (value: unknown): { code: number; json: string } | undefined => {
  if (!isMap(value)) return undefined
  const { code, message, data } = value
  if (typeof code !== 'number' || !Number.isInteger(code) || typeof message !== 'string')
    return undefined
  const dataJson = data === null || data === undefined ? undefined : JSON.stringify(data)
  const member =
    dataJson === undefined || dataJson.length > DATA_CHARS_MAX ? '' : `,"data":${dataJson}`
  const text = JSON.stringify(cut(message, MESSAGE_CHARS_MAX))
  return { code, json: `{"code":${code},"message":${text}${member}}` }
}

/**
 * Reads the engine's answer to a `sendBundle`. Whatever was sent and is not plainly refused is
 * `unknown`.
 */
export const readEngineAnswer = (reply: UpstreamReply): EngineAnswer => {
  const { status } = reply
  const text = reply.body.toString()
  const engine = { status, words: cut(text, WORDS_CHARS_MAX) }
  const ended = (
    outcome: Submission['outcome'],
    { result = null, error = null }: Partial<EngineAnswer> = {},
  ): EngineAnswer => ({ outcome, result, error, engine })
  if (CAPACITY_STATUSES.has(status)) return ended('full')
  const parsed = parseJson(text)
  const members = isMap(parsed) ? parsed : {}
  const error = toError(members['error'])
  if (error?.code === RATE_LIMITED) return ended('full')
  if (error !== undefined) return ended('refused', { error: error.json })
  if (status >= 300 && status < 500 && status !== REQUEST_TIMEOUT) return ended('refused')
  const { result } = members
  if (status >= 300 || result === null || result === undefined) return ended('unknown')
  const resultJson = JSON.stringify(result)
  return resultJson.length > RESULT_CHARS_MAX
    ? ended('unknown')
    : ended('accepted', { result: resultJson })
}
