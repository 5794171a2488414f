import { RpcError } from '../../shared/errors.js'
import type { LoopTurn } from '../../shared/event-loop/loop-turn.js'
import type { Reply } from '../../shared/http.js'
import { formatError, type Id } from '../../shared/jsonrpc.js'
import type { RunSubmission } from '../../rpc/call-context.js'
import {
  RELAY_ROUTES,
  type LanderRoute,
  type RelayRoute,
} from '../../submission/store/submission.js'
import { isReplyTo, toAnswerData } from '../../submission/reply-to.js'
import type { Submissions, Submitter } from '../submission/submissions.js'

/** Submissions by WebSocket, and the bound of a message that is one. */
export type SocketSubmissions = {
  readonly submissions: Submissions
  readonly bytesMax: number
}

/** An answer to a longer message waits for its share of a turn of the event loop. */
const LONG_BYTES = 16 * 1024

/** The lander's method, which has no prefix: its call is forwarded byte for byte. */
const LANDER_METHOD = 'sendTransaction'
const METHOD_NOT_FOUND = new RpcError('methodNotFound')

/** Each relay route with the prefix of its methods: `relay.sendBundle` is that of `/relay`. */
const PREFIXES = RELAY_ROUTES.map(route => ({ route, prefix: `${route.slice(1)}.` }))

const toBytes = ({ body }: Reply): Uint8Array => {
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return body
  body.close()
  throw new Error('The answer to a submission is not complete')
}

/**
 * The reply with further members: the status, unless it is 200, and the headers of the answer, with
 * names in lower case.
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

/** The answer of a submission route as the reply to a call of a WebSocket. */
const toSocketReply = (id: Id, reply: Reply): string => {
  const bytes = toBytes(reply)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  if (isReplyTo(id, bytes)) return withMembers(text.trimEnd(), reply)
  const { status, contentType } = reply
  const data = toAnswerData(bytes, contentType)
  return withMembers(formatError(id, new RpcError('submissionAnswer', { status }, data)), reply)
}

/** Where calls of one method are sent. */
type Target = {
  readonly route: LanderRoute | RelayRoute
  submit(body: Uint8Array): Reply | Promise<Reply>
}

/** The target of a relay's method. Where the network has no such relay, its methods are unknown. */
const toRelay = (
  submissions: Submissions,
  { route, prefix }: (typeof PREFIXES)[number],
  submitter: Submitter,
): Target | RpcError => {
  const relay = submissions.relayOf(submitter.grant, route)
  if (relay === undefined) return METHOD_NOT_FOUND
  return { route, submit: body => submissions.relay(relay, route, submitter, body, prefix) }
}

const targetOf = (
  submissions: Submissions,
  method: string,
  submitter: Submitter,
): Target | RpcError | undefined => {
  const relay = PREFIXES.find(({ prefix }) => method.startsWith(prefix))
  if (relay !== undefined) return toRelay(submissions, relay, submitter)
  const lander = method === LANDER_METHOD ? submissions.landerOf(submitter.grant) : undefined
  if (lander === undefined) return undefined
  const route = '/lander'
  return { route, submit: body => submissions.submit(lander, route, submitter, body) }
}

/**
 * The submission that a call of this method is; undefined where it is none. `sendTransaction` is
 * the lander's where the network has one.
 */
export const findSubmission = (
  { submissions, bytesMax }: SocketSubmissions,
  method: string,
  submitter: Submitter,
  turn: LoopTurn,
): RunSubmission | undefined => {
  const target = targetOf(submissions, method, submitter)
  if (target === undefined) return undefined
  return async (body, id) => {
    if (target instanceof RpcError) throw target
    if (body.byteLength > bytesMax) throw new RpcError('submissionTooLong', { max: bytesMax })
    const reply = await target.submit(body)
    if (body.byteLength > LONG_BYTES && turn.isOver) await turn.next()
    return Buffer.from(toSocketReply(id, reply))
  }
}
