import bs58 from 'bs58'
import { toMapKey } from '../solana/addresses.js'
import { type Chain, isForged } from '../chain/chain.js'
import { CREDENTIALS } from './credentials.js'
import { decodeTransaction } from '../solana/decode-transaction.js'
import { deriveBundleId } from './derive-bundle-id.js'
import {
  type DevUpstream,
  type DevUpstreamOptions,
  openDevUpstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from './dev-upstream.js'
import {
  answerFailure,
  answerResult,
  isAnswer,
  type JsonCall,
  parseJsonCall,
} from '../rpc/json-call.js'
import { parseBatch } from './parse-batch.js'
import {
  parseTransaction,
  type ParsedTransaction,
  TransactionFormatError,
} from '../solana/parse-transaction.js'
import { RateLimit } from './rate-limit.js'
import { sumTips, toAddressSet } from './tips.js'

/** Options of the dev lander. */
export const defaults = {
  /** The credential that it knows: header `x-api-key`, or `?api-key=`. */
  apiKey: CREDENTIALS.lander as string,
  /** False lets requests without any key in; a wrong one is refused all the same. */
  isKeyRequired: true,
  /** Fifteen addresses, of which one must be paid. */
  tipAddresses: [] as readonly string[],
  tipFloorLamports: 1_000_000n,
  bundleCountMax: 4,
  batchCountMax: 16,
  /** A cheap lower bound: one signature and a byte on both sides of it. */
  recordBytesMin: 66,
  recordBytesMax: 1232,
  /** Programs whose callers are turned away. */
  blockedPrograms: [] as readonly string[],
  /** Requests a second of everybody together; 0 is no limit. */
  requestsPerSecondMax: 0,
}
export type LanderOptions = typeof defaults & Partial<DevUpstreamOptions>

/** Why a transaction or a request is turned away: HTTP status and words. */
type Rejection = { readonly status: number; readonly text: string }

const INVALID_PARAMS = -32602
const METHOD_NOT_FOUND = -32601

const badRequest = (text: string): Rejection => ({ status: 400, text })
const invalidPayload = (why: string): Rejection => badRequest(`invalid payload: ${why}`)
const NOT_SIGNED = invalidPayload('signature verification failure')
const TIP_REQUIRED = badRequest('tip required')
const BLOCKED = badRequest('transaction contains blocked arb program')
const UNAUTHORIZED: Rejection = { status: 401, text: 'invalid api key' }
const TOO_MANY: Rejection = { status: 429, text: 'rate limit exceeded' }

const answerText = ({ status, text }: Rejection): UpstreamAnswer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: text,
})

const isRejection = (value: object): value is Rejection => 'text' in value

/** A stand-in for the upstream lander: its routes, checks and words, and a chain to land on. */
export const openLander = (
  chain: Chain,
  options: Partial<LanderOptions> = {},
  now: () => number = Date.now,
): Promise<DevUpstream> => {
  const limits = { ...defaults, ...options }
  const tipAddresses = toAddressSet(limits.tipAddresses)
  const blocked = toAddressSet(limits.blockedPrograms)
  const rate = new RateLimit(limits.requestsPerSecondMax, now)

  const check = (bytes: Uint8Array): ParsedTransaction | Rejection => {
    let transaction: ParsedTransaction
    try {
      transaction = parseTransaction(bytes)
    } catch (error) {
      if (error instanceof TransactionFormatError) return invalidPayload(error.message)
      throw error
    }
    const { keys, instructions } = transaction
    const isBlocked = instructions.some(({ programIdIndex }) =>
      blocked.has(toMapKey(keys[programIdIndex] ?? new Uint8Array())),
    )
    return isBlocked ? BLOCKED : transaction
  }
  const paysTip = (transaction: ParsedTransaction): boolean =>
    sumTips(transaction, tipAddresses) >= limits.tipFloorLamports

  /** Accepted is not landed: what the chain makes of it, the sender sees on the chain. */
  const submit = (bytes: Uint8Array): ParsedTransaction | Rejection => {
    const transaction = check(bytes)
    if (isRejection(transaction)) return transaction
    if (!paysTip(transaction)) return TIP_REQUIRED
    return isForged(chain.send(bytes)) ? NOT_SIGNED : transaction
  }
  const submitBundle = (members: readonly Uint8Array[]): string | Rejection => {
    const transactions: ParsedTransaction[] = []
    for (const bytes of members) {
      const transaction = check(bytes)
      if (isRejection(transaction)) return transaction
      transactions.push(transaction)
    }
    if (!transactions.some(paysTip)) return TIP_REQUIRED
    if (isForged(chain.sendBundle(members))) return NOT_SIGNED
    return deriveBundleId(transactions.map(firstSignature))
  }

  const sendTransaction = (call: JsonCall): UpstreamAnswer => {
    const bytes = decodeTransaction(call.params[0], call.params[1], 'base64')
    const sent = bytes === undefined ? invalidPayload('not base64') : submit(bytes)
    return isRejection(sent)
      ? answerRejection(call, sent)
      : answerResult(call.id, bs58.encode(firstSignature(sent)))
  }
  const sendBundle = (call: JsonCall): UpstreamAnswer => {
    const [texts, config] = call.params
    if (!Array.isArray(texts) || texts.length === 0 || texts.length > limits.bundleCountMax)
      return answerRejection(
        call,
        invalidPayload(`a bundle has 1 to ${limits.bundleCountMax} transactions`),
      )
    const members: Uint8Array[] = []
    for (const text of texts as readonly unknown[]) {
      const bytes = decodeTransaction(text, config, 'base64')
      if (bytes === undefined) return answerRejection(call, invalidPayload('not base64'))
      members.push(bytes)
    }
    const sent = submitBundle(members)
    return typeof sent === 'string' ? answerResult(call.id, sent) : answerRejection(call, sent)
  }
  const json =
    (method: string, run: (call: JsonCall) => UpstreamAnswer) =>
    ({ body }: UpstreamRequest): UpstreamAnswer => {
      const call = parseJsonCall(body)
      if (isAnswer(call)) return call
      if (call.method === method) return run(call)
      const failure = { status: 400, code: METHOD_NOT_FOUND, message: 'Method not found' }
      return answerFailure(call.id, failure)
    }
  /** Records before a framing fault are submitted all the same: the real one reads a stream. */
  const sendBatch = ({ body }: UpstreamRequest): UpstreamAnswer => {
    const { batchCountMax: countMax, recordBytesMin: bytesMin, recordBytesMax: bytesMax } = limits
    const { records, problem } = parseBatch(body, { countMax, bytesMin, bytesMax })
    const accepted = records.filter(bytes => !isRejection(submit(bytes))).length
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
  const sendBinary = ({ body }: UpstreamRequest): UpstreamAnswer => {
    const sent = submit(body)
    return isRejection(sent)
      ? answerText(sent)
      : answerText({ status: 200, text: bs58.encode(firstSignature(sent)) })
  }

  const routes: Readonly<Record<string, (request: UpstreamRequest) => UpstreamAnswer>> = {
    'GET /ping': () => answerText({ status: 200, text: 'pong' }),
    'POST /send': json('sendTransaction', sendTransaction),
    'POST /send-bin': sendBinary,
    'POST /sendBundle': json('sendBundle', sendBundle),
    'POST /sendBatch': sendBatch,
  }
  return openDevUpstream(limits, request => {
    const { method, pathname, headers, query } = request
    const route = routes[`${method} ${pathname}`]
    if (route === undefined) return answerText({ status: 404, text: 'not found' })
    const key = headers['x-api-key'] ?? query.get('api-key') ?? undefined
    const isKnown = key === limits.apiKey || (key === undefined && !limits.isKeyRequired)
    if (!isKnown) return answerText(UNAUTHORIZED)
    return rate.take() === undefined ? route(request) : answerText(TOO_MANY)
  })
}

const firstSignature = ({ signatures }: ParsedTransaction): Uint8Array =>
  signatures[0] ?? new Uint8Array()

const answerRejection = ({ id }: JsonCall, { status, text }: Rejection): UpstreamAnswer =>
  answerFailure(id, { status, code: INVALID_PARAMS, message: text })
