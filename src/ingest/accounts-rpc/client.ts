import { setTimeout as wait } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { pipeline } from 'node:stream'
import { Client, type Dispatcher } from 'undici'
import { NativeError } from '../../native/errors.js'
import { createRpcAnswer, type RpcAnswerEnd, type Wanted } from '../../native/rpc-answer.js'
import { systemAuthorities } from '../../native/system-authorities.js'
import { isMap, type Members } from '../../shared/values.js'
import type { Options } from './options.js'
import { fromRpcError, fromStatus, RpcReadFailure, scrub } from './failure.js'
import { untrustedHint } from './untrusted.js'

/** An upstream RPC to read accounts from. */
export type RpcTarget = {
  /** Its path may contain a secret; it has no query. */
  readonly endpoint: string
  readonly credential?: string | undefined
  /** PEM of a private certificate authority, replaces those of the system. */
  readonly caCertificatePem?: string | undefined
}

/** A request for accounts. */
export type RpcQuestion = {
  readonly method: string
  readonly params: readonly unknown[]
  /** Program, mint or accounts, for messages. */
  readonly what: string
  readonly wanted: Wanted
}

/** Consumes packed rows, in order. */
export type TakeRows = (rows: Uint8Array) => void | Promise<void>

/** Requests and bytes since the start. */
export type RpcCost = { readonly requests: number; readonly bytes: number }

/** Clock and cancellation. */
export type RpcParts = {
  readonly signal: AbortSignal
  readonly now?: () => number
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** Maximum response that is no list of accounts, such as an error or a slot. */
const SMALL_BYTES_MAX = 64 * 1024

const sleepFor = (ms: number, signal: AbortSignal): Promise<unknown> =>
  wait(ms, undefined, { signal })

/** A Retry-After header, seconds or a date, as milliseconds from now. */
export const parseRetryAfter = (value: unknown, nowMs: number): number | undefined => {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  // Date.parse would parse other texts as a year.
  const dateMs = /^[A-Z][a-z]{2,8}, .*GMT$/.test(value) ? Date.parse(value) : NaN
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}

/** The parts of a target that must not appear in any message. */
const secretsOf = ({ endpoint, credential = '' }: RpcTarget): readonly string[] => {
  const { pathname } = new URL(endpoint)
  return [credential, encodeURIComponent(credential), pathname === '/' ? '' : pathname]
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /TIMEOUT/.test(String(error.code))

/** Only the codes of socket errors are reported: their texts may contain secrets. */
const reasonOf = (error: unknown): string =>
  error instanceof Error
    ? 'code' in error && typeof error.code === 'string'
      ? error.code
      : error.name
    : 'unknown'

const toRpcError = (error: Members) => ({
  code: Number(error['code']),
  message: String(error['message']),
})

type Response = Dispatcher.ResponseData

const bodyOf = ({ headers, body }: Response): AsyncIterable<Uint8Array> => {
  if (headers['content-encoding'] !== 'gzip') return body
  const plain = createGunzip()
  // An error of the pipeline is thrown by the iteration of `plain`.
  pipeline(body, plain, () => undefined)
  return plain
}

/** The consumer of the rows failed: a retry does not help. */
class TakeFailure extends Error {
  constructor(cause: unknown) {
    super('rows were not taken', { cause })
  }
}

/**
 * A client of an upstream RPC, which sends its requests one by one. Every failure is an
 * RpcReadFailure, or the signal's reason.
 */
export class Rpc {
  private readonly options: Options
  private readonly signal: AbortSignal
  private readonly now: () => number
  private readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>
  private readonly client: Client
  private readonly path: string
  private readonly headers: Record<string, string>
  private readonly secrets: readonly string[]
  private nextAtMs = 0
  private requests = 0
  private bytes = 0

  constructor(target: RpcTarget, options: Options, parts: RpcParts) {
    const { origin, pathname } = new URL(target.endpoint)
    const { credentialIn, credentialName } = options
    this.options = options
    this.signal = parts.signal
    this.now = parts.now ?? Date.now
    this.sleep = parts.sleep ?? sleepFor
    this.secrets = secretsOf(target)
    const isTls = origin.startsWith('https:')
    const ca = isTls ? { ca: target.caCertificatePem ?? systemAuthorities() } : {}
    this.client = new Client(origin, {
      connect: { timeout: options.connectMs, ...ca },
      headersTimeout: options.answerBeginMs,
      bodyTimeout: options.silenceMs,
      pipelining: 1,
    })
    const { credential } = target
    const isInQuery = credential !== undefined && credentialIn === 'query'
    this.path = isInQuery
      ? `${pathname}?${encodeURIComponent(credentialName)}=${encodeURIComponent(credential)}`
      : pathname
    this.headers = {
      'content-type': 'application/json',
      'accept-encoding': 'gzip',
      ...(credential !== undefined && !isInQuery && { [credentialName]: credential }),
    }
  }

  /**
   * Retries until it succeeds or a retry cannot help. `take` may have received rows of failed
   * attempts.
   */
  async ask(question: RpcQuestion, take: TakeRows): Promise<RpcAnswerEnd> {
    const { method, what, wanted } = question
    return this.insist(
      method,
      what,
      async response => {
        const answer = createRpcAnswer(wanted)
        for await (const chunk of this.chunksOf(response, method, what)) {
          const rows = answer.feed(chunk)
          if (rows.length > 0) await this.give(rows, take)
        }
        const end = answer.end()
        if (end.error !== undefined) throw this.refusal(end.error, method, what)
        return end
      },
      question.params,
    )
  }

  /** Result of a call with a small response. */
  async call(method: string, params: readonly unknown[], what: string): Promise<unknown> {
    const read = async (response: Response): Promise<unknown> => {
      const answer: unknown = JSON.parse(await this.small(response))
      const { result, error } = isMap(answer) ? answer : { result: undefined, error: undefined }
      if (isMap(error)) throw this.refusal(toRpcError(error), method, what)
      if (result === undefined)
        throw new RpcReadFailure('passing', `${method} for ${what}: the upstream answers nothing`)
      return result
    }
    return this.insist(method, what, read, params)
  }

  /** The confirmed slot of the upstream. */
  async slot(): Promise<number> {
    const what = 'the newest slot'
    const slot = await this.call('getSlot', [{ commitment: 'confirmed' }], what)
    if (typeof slot === 'number' && Number.isSafeInteger(slot) && slot >= 0) return slot
    throw new RpcReadFailure('refused', `getSlot for ${what}: the upstream answers no slot`)
  }

  cost(): RpcCost {
    return { requests: this.requests, bytes: this.bytes }
  }

  close(): Promise<void> {
    return this.client.destroy()
  }

  /** Retries while a retry may succeed. */
  private async insist<T>(
    method: string,
    what: string,
    read: (response: Response) => Promise<T>,
    params: readonly unknown[],
  ): Promise<T> {
    const { attemptsMax, slowAttemptsMax, backoffInitialMs, backoffMaxMs, retryAfterMsMax } =
      this.options
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(method, what, read, params)
      } catch (error) {
        this.signal.throwIfAborted()
        if (error instanceof TakeFailure) throw error.cause
        const failure = this.toFailure(error, method, what)
        const attempts =
          failure.kind === 'passing' ? attemptsMax : failure.kind === 'slow' ? slowAttemptsMax : 1
        if (attempt >= attempts) throw failure
        const backoffMs = Math.min(backoffMaxMs, backoffInitialMs * 2 ** (attempt - 1))
        const askedMs = Math.min(failure.retryAfterMs ?? 0, retryAfterMsMax)
        await this.sleep(Math.max(backoffMs, askedMs), this.signal)
      }
    }
  }

  private async attempt<T>(
    method: string,
    what: string,
    read: (response: Response) => Promise<T>,
    params: readonly unknown[],
  ): Promise<T> {
    const { requestsMax, requestsPerSecondMax } = this.options
    if (this.requests >= requestsMax)
      throw new RpcReadFailure(
        'refused',
        `over ${requestsMax} requests: raise networks.accountsRpc.requestsMax, or narrow networks.scope`,
      )
    const pauseMs = this.nextAtMs - this.now()
    if (pauseMs > 0) await this.sleep(pauseMs, this.signal)
    this.nextAtMs = Math.max(this.now(), this.nextAtMs) + 1000 / requestsPerSecondMax
    this.requests++
    const response = await this.client.request({
      method: 'POST',
      path: this.path,
      headers: this.headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: this.signal,
    })
    if (response.statusCode !== 200) throw await this.fromStatus(response, method, what)
    return read(response)
  }

  private async give(rows: Uint8Array, take: TakeRows): Promise<void> {
    try {
      await take(rows)
    } catch (error) {
      throw error instanceof RpcReadFailure ? error : new TakeFailure(error)
    }
  }

  private async *chunksOf(response: Response, method: string, what: string) {
    const { answerBytesMax } = this.options
    let bytes = 0
    for await (const chunk of bodyOf(response)) {
      bytes += chunk.length
      this.bytes += chunk.length
      if (bytes > answerBytesMax)
        throw new RpcReadFailure(
          'tooLarge',
          `${method} for ${what}: the answer is longer than ${answerBytesMax} bytes`,
        )
      yield chunk
    }
  }

  private async small(response: Response): Promise<string> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of bodyOf(response)) {
      bytes += chunk.length
      if (bytes > SMALL_BYTES_MAX) break
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  }

  /** The body of a failed response is a JSON-RPC error, an HTML page, or empty. */
  private async fromStatus(response: Response, method: string, what: string): Promise<Error> {
    const text = await this.small(response).catch(() => '')
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.now())
    let message = text
    try {
      const answer: unknown = JSON.parse(text)
      const error = isMap(answer) ? answer['error'] : undefined
      if (isMap(error)) {
        message = String(error['message'])
        const { statusCode: status } = response
        // These statuses are unspecific: the JSON-RPC error is used instead.
        if (status === 400 || status === 404 || status === 500)
          return this.refusal(toRpcError(error), method, what)
      }
    } catch {
      message = /^\s*</.test(text) ? '' : text
    }
    const { statusCode } = response
    return fromStatus(statusCode, scrub(message, this.secrets), method, what, retryAfterMs)
  }

  private refusal(
    error: { readonly code: number; readonly message: string },
    method: string,
    what: string,
  ): RpcReadFailure {
    return fromRpcError({ ...error, message: scrub(error.message, this.secrets) }, method, what)
  }

  private toFailure(error: unknown, method: string, what: string): RpcReadFailure {
    if (error instanceof RpcReadFailure) return error
    const request = `${method} for ${what}`
    // The addon describes an invalid body by its kinds, never by its content.
    if (error instanceof NativeError)
      return new RpcReadFailure('passing', `${request}: ${scrub(error.message, this.secrets)}`)
    if (error instanceof SyntaxError)
      return new RpcReadFailure('passing', `${request}: the answer is no JSON`)
    const code = reasonOf(error)
    const hint = untrustedHint(code, 'networks.accountsRpc.caFile')
    // The certificate of a server is the same at the next attempt.
    if (hint !== '') return new RpcReadFailure('refused', `${request}: ${code}${hint}`)
    const kind = isTimeout(error) && !code.includes('CONNECT') ? 'slow' : 'passing'
    return new RpcReadFailure(kind, `${request}: no whole answer (${code})`)
  }
}
