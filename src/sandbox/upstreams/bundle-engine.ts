import bs58 from 'bs58'
import { BundleAuction } from './bundle-auction.js'
import { defaults as historyDefaults } from './bundle-history.js'
import type { CheckedBundle } from './bundle-rules.js'
import type { Chain } from '../chain/chain.js'
import { CREDENTIALS } from './credentials.js'
import { type DevUpstream, type DevUpstreamOptions, openDevUpstream } from '../http/dev-upstream.js'
import type { UpstreamAnswer, UpstreamRequest } from '../http/upstream-request.js'
import {
  answerFailure,
  answerResult,
  type Failure,
  isAnswer,
  type JsonCall,
  parseJsonCall,
} from '../http/json-call.js'
import { RateLimit } from './rate-limit.js'

/** Options of the dev bundle engine. */
export const defaults = {
  ...historyDefaults,
  /** The accepted credential: header `x-jito-auth`, or `?uuid=`. Without one, access is open. */
  uuid: CREDENTIALS.engine as string,
  /** The same for the engine at `/iris`: header `x-api-key`, or `?api-key=`. */
  apiKey: CREDENTIALS.iris as string,
  tipAddresses: [] as readonly string[],
  /** What the tip accounts must gain for a bundle to land. */
  tipFloorLamports: 1_000n,
  transactionsMax: 5,
  /** The same for the engine at `/iris`. */
  irisTransactionsMax: 4,
  /** Ids of one status query. */
  idsMax: 5,
  /** Requests a second of one client, of all methods; real engines allow 1. 0 is no limit. */
  requestsPerSecondMax: 0,
  /** Requests a second of all clients, before all are refused; 0 is no limit. */
  congestionPerSecondMax: 0,
}
export type BundleEngineOptions = typeof defaults & Partial<DevUpstreamOptions>

/** Path of the engine that answers signatures in place of a bundle id. */
const IRIS_PATH = '/iris'
/** The same engine for one transaction, as bytes and as base64. */
const IRIS_BYTES_PATH = '/irisb'
const IRIS_TEXT_PATH = '/iris2'
const IRIS_PATHS: readonly string[] = [IRIS_PATH, IRIS_BYTES_PATH, IRIS_TEXT_PATH]

type Methods = Readonly<Record<string, (call: JsonCall, query: URLSearchParams) => UpstreamAnswer>>

const METHOD_NOT_FOUND: Failure = { status: 400, code: -32601, message: 'Method not found' }
const CONTENT_TYPE: Failure = { status: 400, code: -32600, message: 'Invalid content type' }
const UNAUTHORIZED: Failure = { status: 401, code: -32600, message: 'Unauthorized' }
const invalid = (message: string): Failure => ({ status: 400, code: -32602, message })
const rateLimited = (message: string): Failure => ({ status: 429, code: -32097, message })
const CONGESTED = rateLimited('Network congested. Endpoint is globally rate limited.')

const plain = (status: number, body: string): UpstreamAnswer => ({
  status,
  contentType: 'text/plain',
  body,
})

const isFailure = (checked: CheckedBundle | Failure): checked is Failure => 'code' in checked
const toTexts = ({ signatures }: CheckedBundle): string[] =>
  signatures.map(signature => bs58.encode(signature))

const respond = (id: string, sent: unknown[] | string | Failure): UpstreamAnswer =>
  typeof sent === 'string' || Array.isArray(sent) ? answerResult(id, sent) : answerFailure(id, sent)

/** Answers a call of one of the methods. */
const answerCall = (methods: Methods, { headers, query, body }: UpstreamRequest) => {
  if (!/^application\/json\b/i.test(String(headers['content-type'])))
    return answerFailure('null', CONTENT_TYPE)
  const call = parseJsonCall(body)
  if (isAnswer(call)) return call
  const method = Object.hasOwn(methods, call.method) ? methods[call.method] : undefined
  return method === undefined ? answerFailure(call.id, METHOD_NOT_FOUND) : method(call, query)
}

/** Methods of an engine that answers bundle ids, as Jito's does; texts are base58 by default. */
const createJito = (chain: Chain, auction: BundleAuction, limits: BundleEngineOptions) => {
  const form = { countMax: limits.transactionsMax, encoding: 'base58' } as const
  const byIds =
    (look: (ids: readonly string[]) => unknown) =>
    ({ id, params: [ids] }: JsonCall): UpstreamAnswer => {
      if (!Array.isArray(ids) || !ids.every(each => typeof each === 'string'))
        return answerFailure(id, invalid('the first parameter is a list of bundle ids'))
      if (ids.length > limits.idsMax)
        return answerFailure(id, invalid(`at most ${limits.idsMax} bundle ids`))
      return answerResult(id, { context: { slot: chain.tip.slot }, value: look(ids) })
    }
  const bundles = {
    sendBundle({ id, params }: JsonCall): UpstreamAnswer {
      const checked = auction.check(params, form)
      return respond(id, isFailure(checked) ? checked : auction.submit(checked))
    },
    getBundleStatuses: byIds(ids => auction.history.statuses(ids)),
    getInflightBundleStatuses: byIds(ids => auction.history.inflight(ids)),
    getTipAccounts: ({ id }: JsonCall) => answerResult(id, limits.tipAddresses),
  }
  const transactions: Methods = {
    sendTransaction({ id, params }, query) {
      if (query.get('bundleOnly') !== 'true')
        return respond(id, auction.sendSingle(params, form.encoding))
      const [text, config] = params
      const checked = auction.check([[text], config], form)
      if (isFailure(checked)) return answerFailure(id, checked)
      const sent = auction.submit(checked)
      return typeof sent === 'string'
        ? answerResult(id, toTexts(checked)[0], { 'x-bundle-id': sent })
        : answerFailure(id, sent)
    },
  }
  return { bundles, transactions }
}

const isRevertProtected = (config: unknown): boolean =>
  typeof config === 'object' &&
  config !== null &&
  'revertProtection' in config &&
  config.revertProtection === true

/** Parameters of sendTransaction for the first transaction of a bundle. */
const first = ([texts, config]: readonly unknown[]): readonly unknown[] => [
  Array.isArray(texts) ? texts[0] : undefined,
  config,
]

/** Methods of an engine that answers the signatures of a bundle; texts are base64 by default. */
const createIris = (auction: BundleAuction, limits: BundleEngineOptions): Methods => {
  const form = { countMax: limits.irisTransactionsMax, encoding: 'base64' } as const
  return {
    sendBundle({ id, params }) {
      const checked = auction.check(params, form)
      if (isFailure(checked)) return answerFailure(id, checked)
      // A single transaction without revert protection may land as a failed one.
      const isSingle = checked.transactions.length === 1 && !isRevertProtected(params[1])
      const sent = isSingle
        ? auction.sendSingle(first(params), form.encoding)
        : auction.submit(checked)
      return respond(id, typeof sent === 'string' ? toTexts(checked) : sent)
    },
    sendTransaction: ({ id, params }) => respond(id, auction.sendSingle(params, form.encoding)),
    getHealth: ({ id }) => answerResult(id, 'ok'),
  }
}

/** Answers a transaction that is a whole body; the query has the rest of the call. */
const answerBody = (
  auction: BundleAuction,
  encoding: 'base64' | 'utf8',
  { body, query }: UpstreamRequest,
): UpstreamAnswer => {
  const method = query.get('method')
  if (method !== 'sendTransaction' && method !== 'getHealth')
    return answerFailure('null', METHOD_NOT_FOUND)
  const sent =
    method === 'getHealth' ? 'ok' : auction.sendSingle([body.toString(encoding)], 'base64')
  return typeof sent === 'string'
    ? { status: 200, contentType: 'application/json', body: JSON.stringify({ result: sent }) }
    : answerFailure('null', sent)
}

/**
 * Two local bundle engines on one port: under `/api/v1/` one that answers bundle ids, and at
 * `/iris` one that answers signatures. Both land on the chain; a bundle lands whole or not at all.
 */
export const openBundleEngine = (
  chain: Chain,
  options: Partial<BundleEngineOptions> = {},
  now: () => number = Date.now,
): Promise<DevUpstream> => {
  const limits = { ...defaults, ...options }
  const auction = new BundleAuction(chain, limits, now)
  const clientRate = new RateLimit(limits.requestsPerSecondMax, now)
  const totalRate = new RateLimit(limits.congestionPerSecondMax, now)
  const { bundles, transactions } = createJito(chain, auction, limits)
  const calls: Readonly<Record<string, Methods>> = {
    '/api/v1/bundles': bundles,
    '/api/v1/transactions': transactions,
    [IRIS_PATH]: createIris(auction, limits),
    ...Object.fromEntries(
      Object.entries(bundles).map(([name, run]) => [`/api/v1/${name}`, { [name]: run }]),
    ),
  }
  const routes: Readonly<Record<string, (request: UpstreamRequest) => UpstreamAnswer>> = {
    ...Object.fromEntries(
      Object.entries(calls).map(([path, methods]) => [
        path,
        (request: UpstreamRequest) => answerCall(methods, request),
      ]),
    ),
    [IRIS_BYTES_PATH]: request => answerBody(auction, 'base64', request),
    [IRIS_TEXT_PATH]: request => answerBody(auction, 'utf8', request),
  }
  const rateFailure = (): Failure | undefined => {
    if (totalRate.count() !== undefined) return CONGESTED
    const excess = clientRate.count()
    if (excess === undefined) return undefined
    const message = `Rate limit exceeded. Limit: ${limits.requestsPerSecondMax} per second for txn requests`
    // From the second excess request on, the message names a retry time.
    return rateLimited(
      excess.count === 1
        ? message
        : `${message}. Back-off triggered: Retry after ${excess.retryMs}ms`,
    )
  }
  return openDevUpstream(limits, request => {
    const { method, pathname, headers, query } = request
    const route = Object.hasOwn(routes, pathname) ? routes[pathname] : undefined
    if (route === undefined) return plain(404, 'Not Found')
    if (method !== 'POST') return plain(405, 'Method Not Allowed')
    const [credential, accepted] = IRIS_PATHS.includes(pathname)
      ? [headers['x-api-key'] ?? query.get('api-key'), limits.apiKey]
      : [headers['x-jito-auth'] ?? query.get('uuid'), limits.uuid]
    const failure = credential !== null && credential !== accepted ? UNAUTHORIZED : rateFailure()
    return failure === undefined ? route(request) : answerFailure('null', failure)
  })
}
