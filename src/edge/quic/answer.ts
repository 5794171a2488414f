import { ERRORS, RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import { isMap, parseJson } from '../../shared/values.js'
import type { QuicAnswer } from '../../server/quic/quic-server.js'

/** What clients of Lunar Lander look for in the reasons of a status. */
const CLASSES = {
  payload: 'invalid transaction payload',
  tip: 'tip required',
  rate: 'rate limit exceeded',
  unavailable: 'unavailable',
} as const

const { message: NO_LANE } = ERRORS.noLane
const OF_PAYLOAD = /^transaction 0 /
const OF_TIP = /^(?:Missing|Insufficient) tip/

const classOf = (status: number, message: string): string | undefined => {
  if (status === 429) return CLASSES.rate
  if (status === 503) return CLASSES.unavailable
  if (status !== 400) return undefined
  if (OF_TIP.test(message)) return CLASSES.tip
  return OF_PAYLOAD.test(message) ? CLASSES.payload : undefined
}

/** An answer with a reason that the client knows, followed by ours. */
export const toRefusal = (status: number, message: string): QuicAnswer => {
  const known = classOf(status, message)
  return { status, words: known === undefined ? message : `${known}: ${message}` }
}

/** The answer to a transaction that an error refuses. */
export const toErrorAnswer = ({ message, row }: RpcError): QuicAnswer =>
  toRefusal(row.status ?? 500, message)

/** Of an error of a race: whether a tip to a lane would have it sent. */
const lacksTip = (data: unknown): boolean => {
  const lanes = isMap(data) ? data['lanes'] : undefined
  return Array.isArray(lanes) && lanes.some(lane => isMap(lane) && lane['leftOut'] === 'tip')
}

/** The reply of `/send` or `/race` as the answer on a stream. */
export const toAnswer = ({ body, status }: Reply): QuicAnswer => {
  if (status === 200 && typeof body === 'string') return { status, words: body }
  const parsed = typeof body === 'string' ? parseJson(body) : undefined
  const error = isMap(parsed) && isMap(parsed['error']) ? parsed['error'] : {}
  const { message, data } = error
  const words = typeof message === 'string' ? message : `HTTP ${status}`
  return words === NO_LANE && lacksTip(data)
    ? { status, words: `${CLASSES.tip}: ${words}` }
    : toRefusal(status, words)
}
