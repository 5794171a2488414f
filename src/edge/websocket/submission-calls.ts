import { RpcError } from '../../shared/errors.js'
import type { LoopTurn } from '../../shared/event-loop/loop-turn.js'
import type { Reply } from '../../shared/http.js'
import { formatError, type Id } from '../../shared/jsonrpc.js'
import type { RunSubmission } from '../../rpc/call-context.js'
import { RELAY_ROUTES } from '../../submission/store/submission.js'
import { readRaceCall, toRaceCallReply } from '../../submission/race/call.js'
import { isReplyTo, toAnswerData } from '../../submission/reply-to.js'
import type { Submissions, Submitter } from '../submission/submissions.js'

/** Submissions by WebSocket, and the bound of a message that is one. */
export type SocketSubmissions = {
  readonly submissions: Submissions
  readonly bytesMax: number
}

/** A reply to a longer message waits for its share of a turn of the event loop. */
const LONG_BYTES = 16 * 1024

/** The lander's method, which has no prefix: its call is forwarded byte for byte. */
const LANDER_METHOD = 'sendTransaction'
const LANDER = { route: '/lander', prefix: '' } as const

/** Sends a transaction by all lanes, as `/race` does. */
const RACE_METHOD = 'race.sendTransaction'

/** Each relay route with the prefix of its methods: `relay.sendBundle` is that of `/relay`. */
const RELAYS = RELAY_ROUTES.map(route => ({ route, prefix: `${route.slice(1)}.` }))

const toBytes = ({ body }: Reply): Uint8Array => {
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return body
  body.close()
  throw new Error('The reply to a submission is not complete')
}

/**
 * The reply with further members: the status, unless it is 200, and its headers, with names in
 * lower case.
 */
const withMembers = (text: string, { status, headers = {} }: Omit<Reply, 'body'>): string => {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const members = {
    ...(status !== 200 && { status }),
    ...(named.length > 0 && { headers: Object.fromEntries(named) }),
  }
  const added = JSON.stringify(members).slice(1)
  return added === '}' ? text : `${text.slice(0, text.lastIndexOf('}'))},${added}`
}

/** The reply of a submission route as the one to a call of a WebSocket. */
const toSocketReply = (id: Id, reply: Reply): string => {
  const bytes = toBytes(reply)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  if (isReplyTo(id, bytes)) return withMembers(text.trimEnd(), reply)
  const { status, contentType } = reply
  const data = toAnswerData(bytes, contentType)
  return withMembers(formatError(id, new RpcError('submissionAnswer', { status }, data)), reply)
}

/** What a socket asked for in its URL, and the turn of the event loop that its message has. */
type SocketTurn = { readonly turn: LoopTurn; readonly wantsProtection: boolean }

/** A race that is asked for by a call. Its parameters are those of `sendTransaction`. */
const raceOf = (
  { submissions, bytesMax }: SocketSubmissions,
  submitter: Submitter,
  { turn, wantsProtection }: SocketTurn,
): RunSubmission => {
  const handler = submissions.handlerOf(submitter.grant, '/race')
  return async (body, id) => {
    if (handler === undefined) throw new RpcError('methodNotFound')
    if (body.byteLength > bytesMax) throw new RpcError('submissionTooLong', { max: bytesMax })
    const { text, encoding, race } = readRaceCall(body)
    const isProtected = wantsProtection || race.isProtected
    const form = { encoding, race: { ...race, isProtected } }
    const reply = await submissions.submit(handler, submitter, text, form)
    if (body.byteLength > LONG_BYTES && turn.isOver) await turn.next()
    return Buffer.from(toSocketReply(id, toRaceCallReply(id, reply)))
  }
}

/**
 * The submission that a call of this method is; undefined if it is none. `sendTransaction` is
 * the lander's where the network has one.
 */
export const findSubmission = (
  { submissions, bytesMax }: SocketSubmissions,
  method: string,
  submitter: Submitter,
  socket: SocketTurn,
): RunSubmission | undefined => {
  if (method === RACE_METHOD) return raceOf({ submissions, bytesMax }, submitter, socket)
  const target =
    method === LANDER_METHOD ? LANDER : RELAYS.find(({ prefix }) => method.startsWith(prefix))
  if (target === undefined) return undefined
  const handler = submissions.handlerOf(submitter.grant, target.route)
  if (handler === undefined && target === LANDER) return undefined
  return async (body, id) => {
    // A method of a relay that the network does not have is unknown.
    if (handler === undefined) throw new RpcError('methodNotFound')
    if (body.byteLength > bytesMax) throw new RpcError('submissionTooLong', { max: bytesMax })
    const reply = await submissions.submit(handler, submitter, body, {
      methodPrefix: target.prefix,
    })
    if (body.byteLength > LONG_BYTES && socket.turn.isOver) await socket.turn.next()
    return Buffer.from(toSocketReply(id, reply))
  }
}
