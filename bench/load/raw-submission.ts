// The latency that an edge adds to one raw transaction, over HTTP, as a binary message of a
// WebSocket and over QUIC, against the JSON-RPC call to the upstream itself.
import bs58 from 'bs58'
import type { Context } from '../context.js'
import type { Exchange, Target } from '../load-generators/connection.js'
import { PATHS } from '../peers/upstream-paths.js'
import { signTransaction, type Signed } from '../data/transactions.js'
import { addCosts, probe, REQUESTS_PER_SECOND, reportAdded, type Costs } from './submission.js'

/** More than a probe sends. */
const MARGIN = 1.1

type Way = Costs & { readonly to: Target; readonly toExchange: (signed: Signed) => Exchange }

const BINARY_ACCEPTED = '\0'

const ways = ({ port, path }: Target): Way[] => {
  const costs = () => ({ p50: [], p99: [] })
  return [
    {
      name: '/send',
      costs: costs(),
      to: { port, path: `${path}/send`, contentType: 'application/octet-stream' },
      toExchange: ({ bytes, signature }) => ({ body: bytes, reply: signature }),
    },
    {
      name: 'binary message',
      costs: costs(),
      to: { port, path, isWebSocket: true },
      toExchange: ({ bytes, signature }) => ({
        body: bytes,
        reply: BINARY_ACCEPTED + Buffer.from(bs58.decode(signature)).toString('latin1'),
      }),
    },
    {
      name: 'QUIC stream',
      costs: costs(),
      to: { port, path, isQuic: true },
      toExchange: ({ bytes, signature }) => ({ body: bytes, reply: signature }),
    },
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
  const all = ways(edge.target)
  for (let round = 0; round < plan.rounds; round++) {
    const bare = await probe(context, toUpstream, directly, REQUESTS_PER_SECOND)
    for (const { to, toExchange, costs } of all) {
      const whole = await probe(context, to, fresh().map(toExchange), REQUESTS_PER_SECOND)
      addCosts(costs, whole, bare)
    }
  }
  for (const way of all) reportAdded(context, way)
}
