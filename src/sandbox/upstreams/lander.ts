import bs58 from 'bs58'
import { toMapKey } from '../solana/addresses.js'
import type { Chain } from '../chain/chain.js'
import { isForged } from '../chain/sent.js'
import { CREDENTIALS } from './credentials.js'
import { decodeTransaction } from '../solana/decode-transaction.js'
import { deriveBundleId } from './derive-bundle-id.js'
import { type DevUpstream, type DevUpstreamOptions, openDevUpstream } from '../http/dev-upstream.js'
import type { UpstreamAnswer, UpstreamRequest } from '../http/upstream-request.js'
import {
  answerFailure,
  answerResult,
  isAnswer,
  type JsonCall,
  parseJsonCall,
} from '../http/json-call.js'
import { parseBatch } from './parse-batch.js'
import { parseTransaction, TransactionFormatError } from '../solana/parse-transaction.js'
import type { ParsedTransaction } from '../solana/transaction.js'
import { RateLimit } from './rate-limit.js'
import { isMap, parseJson } from '../../shared/values.js'
import { sumTips, toAddressSet } from './tips.js'

/** Options of the dev lander. */
export const defaults = {
  /** The accepted credential: header `x-api-key`, `?api-key=`, or `?c=`. */
  apiKey: CREDENTIALS.lander as string,
  /** False accepts requests without a key; a wrong key is refused in any case. */
  isKeyRequired: true,
  /** Fifteen addresses; one of them must be paid. */
  tipAddresses: [] as readonly string[],
  tipFloorLamports: 1_000_000n,
  bundleCountMax: 4,
  batchCountMax: 16,
  /** A cheap lower bound: a count, one signature and one byte of a message. */
  recordBytesMin: 66,
  recordBytesMax: 1232,
  /** Transactions that call one of these programs are rejected. */
  blockedPrograms: [] as readonly string[],
  /** Requests a second of all clients together; 0 is no limit. */
  requestsPerSecondMax: 0,
}
export type LanderOptions = typeof defaults & Partial<DevUpstreamOptions>

/** Why a transaction or a request is rejected: HTTP status and text. */
type Rejection = { readonly status: number; readonly text: string }

const INVALID_PARAMS = -32602
/** Of Glaive. */
const NO_TIP = -32000
const METHOD_NOT_FOUND = -32601

const badRequest = (text: string): Rejection => ({ status: 400, text })
const invalidPayload = (why: string): Rejection => badRequest(`invalid payload: ${why}`)
const NOT_SIGNED = invalidPayload('signature verification failure')
const TIP_REQUIRED = badRequest('tip required')
const BLOCKED = badRequest('transaction contains blocked arb program')
const UNAUTHORIZED: Rejection = { status: 401, text: 'invalid api key' }
const TOO_MANY: Rejection = { status: 429, text: 'rate limit exceeded' }
const NOT_SKIPPED = badRequest('skipPreflight must be true')
/** 0slot has statuses of its own. */
const STATUSES: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  '/txb': { 401: 403, 429: 419 },
}

const answerText = ({ status, text }: Rejection): UpstreamAnswer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: text,
})

const answerJson = (status: number, value: object): UpstreamAnswer => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify(value),
})

const isRejection = (value: object): value is Rejection => 'text' in value

type Route = (request: UpstreamRequest) => UpstreamAnswer

const firstSignature = ({ signatures }: ParsedTransaction): Uint8Array =>
  signatures[0] ?? new Uint8Array()

const answerRejection = ({ id }: JsonCall, { status, text }: Rejection): UpstreamAnswer =>
  answerFailure(id, { status, code: INVALID_PARAMS, message: text })

/** A route that serves one JSON-RPC method. */
const jsonRoute =
  (method: string, run: (call: JsonCall) => UpstreamAnswer): Route =>
  ({ body }) => {
    const call = parseJsonCall(body)
    if (isAnswer(call)) return call
    if (call.method === method) return run(call)
    const failure = { status: 400, code: METHOD_NOT_FOUND, message: 'Method not found' }
    return answerFailure(call.id, failure)
  }

/** Checks what the lander's routes receive, and sends it to the chain. */
class Lander {
  readonly routes: Readonly<Record<string, Route>> = {
    'GET /ping': () => answerText({ status: 200, text: 'pong' }),
    'POST /send': jsonRoute('sendTransaction', call => this.sendTransaction(call)),
    'POST /send-bin': request => this.sendBinary(request),
    // As a node, and as Node1, Lightspeed, and Stellium, whose key is the path.
    'POST /': jsonRoute('sendTransaction', call => this.sendTransaction(call)),
    'POST /binary': request => this.sendForResult(request),
    'POST /sendTransaction': request => this.sendJson(request, 'transaction'),
    'POST /api/v2/submit': request => this.sendJson(request, 'content'),
    'POST /api/v2/submit-batch': request => this.sendJson(request, 'transactions'),
    'POST /fast': jsonRoute('sendTransaction', call => this.sendFast(call)),
    'POST /txb': request => this.sendForJson(request),
    'POST /api/sendTransaction2': request => this.sendText(request),
    'POST /api/sendBatch': request => this.sendBatch(request),
    'POST /sendBundle': jsonRoute('sendBundle', call => this.sendBundle(call)),
    'POST /sendBatch': request => this.sendBatch(request),
  }
  private readonly chain: Chain
  private readonly limits: LanderOptions
  private readonly tipAddresses: ReadonlySet<string>
  private readonly blockedPrograms: ReadonlySet<string>

  constructor(chain: Chain, limits: LanderOptions) {
    this.chain = chain
    this.limits = limits
    this.tipAddresses = toAddressSet(limits.tipAddresses)
    this.blockedPrograms = toAddressSet(limits.blockedPrograms)
  }

  private check(bytes: Uint8Array): ParsedTransaction | Rejection {
    let transaction: ParsedTransaction
    try {
      transaction = parseTransaction(bytes)
    } catch (error) {
      if (error instanceof TransactionFormatError) return invalidPayload(error.message)
      throw error
    }
    const { keys, instructions } = transaction
    const isBlocked = instructions.some(({ programIdIndex }) =>
      this.blockedPrograms.has(toMapKey(keys[programIdIndex] ?? new Uint8Array())),
    )
    return isBlocked ? BLOCKED : transaction
  }

  private paysTip(transaction: ParsedTransaction): boolean {
    return sumTips(transaction, this.tipAddresses) >= this.limits.tipFloorLamports
  }

  /** An accepted transaction may still fail to land: the sender sees that on the chain. */
  private submit(bytes: Uint8Array): ParsedTransaction | Rejection {
    const transaction = this.check(bytes)
    if (isRejection(transaction)) return transaction
    if (!this.paysTip(transaction)) return TIP_REQUIRED
    return isForged(this.chain.send(bytes)) ? NOT_SIGNED : transaction
  }

  private submitBundle(members: readonly Uint8Array[]): string | Rejection {
    const transactions: ParsedTransaction[] = []
    for (const bytes of members) {
      const transaction = this.check(bytes)
      if (isRejection(transaction)) return transaction
      transactions.push(transaction)
    }
    if (!transactions.some(transaction => this.paysTip(transaction))) return TIP_REQUIRED
    if (isForged(this.chain.sendBundle(members))) return NOT_SIGNED
    return deriveBundleId(transactions.map(firstSignature))
  }

  private sendTransaction(call: JsonCall): UpstreamAnswer {
    const bytes = decodeTransaction(call.params[0], call.params[1], 'base64')
    const sent = bytes === undefined ? invalidPayload('not base64') : this.submit(bytes)
    return isRejection(sent)
      ? answerRejection(call, sent)
      : answerResult(call.id, bs58.encode(firstSignature(sent)))
  }

  private sendBundle(call: JsonCall): UpstreamAnswer {
    const { bundleCountMax } = this.limits
    const [texts, config] = call.params
    if (!Array.isArray(texts) || texts.length === 0 || texts.length > bundleCountMax)
      return answerRejection(
        call,
        invalidPayload(`a bundle has 1 to ${bundleCountMax} transactions`),
      )
    const members: Uint8Array[] = []
    for (const text of texts as readonly unknown[]) {
      const bytes = decodeTransaction(text, config, 'base64')
      if (bytes === undefined) return answerRejection(call, invalidPayload('not base64'))
      members.push(bytes)
    }
    const sent = this.submitBundle(members)
    return typeof sent === 'string' ? answerResult(call.id, sent) : answerRejection(call, sent)
  }

  private sendBinary({ body }: UpstreamRequest): UpstreamAnswer {
    const sent = this.submit(body)
    return isRejection(sent)
      ? answerText(sent)
      : answerText({ status: 200, text: bs58.encode(firstSignature(sent)) })
  }

  /** As Helius Sender, which takes only what is not to be simulated. */
  private sendFast(call: JsonCall): UpstreamAnswer {
    const [, config] = call.params
    const isSkipped = isMap(config) && config['skipPreflight'] === true
    return isSkipped ? this.sendTransaction(call) : answerRejection(call, NOT_SKIPPED)
  }

  /** As 0slot: bytes, which are answered as JSON. */
  private sendForJson({ body }: UpstreamRequest): UpstreamAnswer {
    const sent = this.submit(body)
    return isRejection(sent)
      ? answerText({ ...sent, status: 500 })
      : answerResult('1', bs58.encode(firstSignature(sent)))
  }

  /** As Glaive: bytes, answered by a result, or an error that is an object or a text. */
  private sendForResult({ body }: UpstreamRequest): UpstreamAnswer {
    const sent = this.submit(body)
    if (!isRejection(sent)) return answerJson(200, { result: bs58.encode(firstSignature(sent)) })
    return answerJson(sent.status, { error: { code: NO_TIP, message: sent.text } })
  }

  /**
   * As senders with JSON of their own: the base64 of a transaction under this name, within
   * `transaction` or a list.
   */
  private sendJson({ body }: UpstreamRequest, name: string): UpstreamAnswer {
    const given: unknown = parseJson(body.toString())
    const outer = isMap(given) ? (given['transaction'] ?? given[name]) : undefined
    const inner = isMap(outer) ? outer[name] : outer
    const text: unknown = Array.isArray(inner) ? inner[0] : inner
    const bytes = decodeTransaction(text, undefined, 'base64')
    const sent = bytes === undefined ? invalidPayload('not base64') : this.submit(bytes)
    if (isRejection(sent)) return answerJson(sent.status, { code: 3, message: sent.text })
    if (name === 'transactions') return answerJson(200, { success: true })
    return answerJson(200, { signature: bs58.encode(firstSignature(sent)) })
  }

  /** As a sender that takes base64: its answer is the status alone. */
  private sendText({ body }: UpstreamRequest): UpstreamAnswer {
    const bytes = decodeTransaction(body.toString(), undefined, 'base64')
    const sent = bytes === undefined ? invalidPayload('not base64') : this.submit(bytes)
    return answerText(isRejection(sent) ? sent : { status: 200, text: '' })
  }

  /** Records before a framing error are submitted: the real lander reads the body as a stream. */
  private sendBatch({ body }: UpstreamRequest): UpstreamAnswer {
    const {
      batchCountMax: countMax,
      recordBytesMin: bytesMin,
      recordBytesMax: bytesMax,
    } = this.limits
    const { records, problem } = parseBatch(body, { countMax, bytesMin, bytesMax })
    const accepted = records.filter(bytes => !isRejection(this.submit(bytes))).length
    const rejected = records.length - accepted
    return {
      status: rejected === 0 && problem === undefined ? 200 : 400,
      contentType: 'application/json',
      body: JSON.stringify({
        attempted: records.length,
        accepted,
        rejected,
        parse_error: problem ?? null,
      }),
    }
  }
}

const KEY_HEADERS = ['x-api-key', 'api-key', 'apikey', 'authorization'] as const
const KEY_PARAMETERS = ['api-key', 'api_key', 'c'] as const

/** The key of a client, wherever one of these senders expects it. */
const keyOf = ({ headers, query }: Pick<UpstreamRequest, 'headers' | 'query'>) => {
  const inHeader = KEY_HEADERS.map(name => headers[name]).find(key => key !== undefined)
  const inQuery = KEY_PARAMETERS.map(name => query.get(name)).find(key => key !== null)
  return inHeader ?? inQuery ?? undefined
}

/** A local lander with the routes, checks and texts of the real one; it lands on the chain. */
export const openDevLander = (
  chain: Chain,
  options: Partial<LanderOptions> = {},
  now: () => number = Date.now,
): Promise<DevUpstream> => {
  const limits = { ...defaults, ...options }
  const rate = new RateLimit(limits.requestsPerSecondMax, now)
  const { routes } = new Lander(chain, limits)
  return openDevUpstream(limits, request => {
    const { method, pathname, headers, query } = request
    const isKeyInPath = pathname === `/${limits.apiKey}`
    const route = routes[`${method} ${isKeyInPath ? '/' : pathname}`]
    if (route === undefined) return answerText({ status: 404, text: 'not found' })
    const key = isKeyInPath ? limits.apiKey : keyOf({ headers, query })
    const isKnown = key === limits.apiKey || (key === undefined && !limits.isKeyRequired)
    const isLimited = isKnown && rate.count() !== undefined
    if (isKnown && !isLimited) return route(request)
    const refusal = isLimited ? TOO_MANY : UNAUTHORIZED
    return answerText({
      ...refusal,
      status: STATUSES[pathname]?.[refusal.status] ?? refusal.status,
    })
  })
}
