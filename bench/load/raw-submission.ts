// The latency that an edge adds to one raw transaction, over HTTP, as a binary message of a
// WebSocket and over QUIC, against the JSON-RPC call to the upstream itself.
import bs58 from 'bs58'
import type { Context } from '../context.js'
import type { Exchange, Target } from '../load-generators/connection.js'
import { PATHS } from '../peers/upstream-paths.js'
import { signTransaction, type Signed } from '../data/transactions.js'
import {
  addCosts,
  createWay,
  probe,
  reportAdded,
  REQUESTS_PER_SECOND,
  type Way,
} from './submission.js'

/** More than a probe sends. */
const MARGIN = 1.1

/** How a transaction is sent by a way, and what is answered. */
type ToExchange = (signed: Signed) => Exchange

const BINARY_ACCEPTED = '\0'

const toOctets: ToExchange = ({ bytes, signature }) => ({ body: bytes, reply: signature })
const toBinaryMessage: ToExchange = ({ bytes, signature }) => ({
  body: bytes,
  reply: BINARY_ACCEPTED + Buffer.from(bs58.decode(signature)).toString('latin1'),
})

const createWays = ({ port, path }: Target): [Way, ToExchange][] => {
  const toSend = { port, path: `${path}/send`, contentType: 'application/octet-stream' }
  return [
    [createWay('/send', toSend), toOctets],
    [createWay('binary message', { port, path, isWebSocket: true }), toBinaryMessage],
    [createWay('QUIC stream', { port, path, isQuic: true }), toOctets],
  ]
}

/** Latency that the routes of raw transactions add. */
export const benchRawSubmission = async (context: Context): Promise<void> => {
  const { edge, note, plan, upstreamPort } = context
  note(`open loop, ${REQUESTS_PER_SECOND} requests/s to the upstream and to the edge in turn`)
  const probeMs = plan.warmMs + plan.openLoopMs
  const count = Math.ceil((probeMs / 1_000) * REQUESTS_PER_SECOND * MARGIN)
  // A transaction that was sent before is answered without the upstream.
  let nth = 0
  const fresh = (): Signed[] => Array.from({ length: count }, () => signTransaction(nth++))
  const directly = fresh().map(({ base64, signature }, id) => ({
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id, method: 'sendTransaction' },
      params: [base64, { encoding: 'base64' }],
    }),
    reply: JSON.stringify({ jsonrpc: '2.0', result: signature, id }),
  }))
  const toUpstream = { port: upstreamPort, path: PATHS.transaction }
  const ways = createWays(edge.target)
  for (let round = 0; round < plan.rounds; round++) {
    const bare = await probe(context, toUpstream, directly, REQUESTS_PER_SECOND)
    for (const [way, toExchange] of ways)
      await addCosts(context, way, fresh().map(toExchange), bare)
  }
  for (const [way] of ways) reportAdded(context, way)
}
