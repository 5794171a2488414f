import type { LookupFunction } from 'node:net'
import type { WebhookTarget } from '../../access/webhooks/webhook-manager.js'
import type { Options } from './options.js'
import { TargetError, type CheckedAddress, type Resolve } from './resolve.js'
import { signedHeaders } from './signature.js'

/** How an attempt ended. It succeeded where the problem is empty. */
export type SendResult = {
  /** Status of the answer; null without one. */
  readonly status: number | null
  /** In words for the holder of the access. */
  readonly problem: string
  readonly elapsedMs: number
}

/** What is sent. */
export type SentMessage = { readonly messageId: string; readonly body: string }

/** Makes one attempt, which ends when the signal aborts; never rejects. */
export type Send = (
  target: WebhookTarget,
  message: SentMessage,
  stopping: AbortSignal,
) => Promise<SendResult>

type SendOptions = Pick<Options, 'connectMs' | 'sendMs' | 'answerBytesMax'>

/** Connects to the addresses that were checked, whatever the name resolves to by now. */
const lookupOf =
  (addresses: readonly CheckedAddress[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    const [first = { address: '', family: 0 }] = addresses
    if (all === true) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }

const problemOfStatus = (status: number): string => {
  if (status >= 200 && status < 300) return ''
  if (status >= 300 && status < 400) return `answered ${status}: redirects are not followed`
  return status === 410 ? 'answered 410 Gone' : `answered ${status}`
}

const TLS = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH)/

const problemOfCode = (code: string): string => {
  if (code === 'ECONNREFUSED') return 'the connection was refused'
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return 'there is no way to the address'
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET')
    return 'the connection was closed without an answer'
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'the headers of the answer are too long'
  if (code === 'HTTPParserError' || code.startsWith('HPE_')) return 'the answer is not HTTP/1.1'
  if (TLS.test(code)) return `the certificate or TLS of the receiver is wrong (${code})`
  return `the request failed${code === '' ? '' : ` (${code})`}`
}

const problemOf = (error: unknown, { connectMs }: SendOptions): string => {
  if (error instanceof TargetError) return error.message
  const code = error instanceof Error && 'code' in error ? String(error.code ?? error.name) : ''
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT'
    ? `no connection within ${connectMs} ms`
    : problemOfCode(code)
}

/** Runs work with a signal that aborts after `ms`, or when `stopping` does. */
const within = async <T>(
  ms: number,
  stopping: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const controller = new AbortController()
  const onStop = (): void => controller.abort(new TargetError('the service was stopped meanwhile'))
  const onTimeout = (): void => controller.abort(new TargetError(`no answer within ${ms} ms`))
  const timer = setTimeout(onTimeout, ms)
  stopping.addEventListener('abort', onStop)
  if (stopping.aborted) onStop()
  try {
    controller.signal.throwIfAborted()
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', onStop)
  }
}

/** Fails when the signal aborts, whatever happens to the work. */
const before = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })

/**
 * Sends messages over a connection of their own each, to addresses that `resolve` permits, and
 * follows no redirects.
 */
export const createSend = (
  options: SendOptions,
  {
    resolve,
    now,
    elapsed,
  }: {
    readonly resolve: Resolve
    readonly now: () => number
    /** Monotonic milliseconds. */
    readonly elapsed: () => number
  },
): Send => {
  const { answerBytesMax, connectMs, sendMs } = options
  const post = async (
    target: WebhookTarget,
    message: SentMessage,
    signal: AbortSignal,
  ): Promise<number> => {
    const url = new URL(target.url.reveal())
    const lookup = lookupOf(await before(signal, resolve(url)))
    // Loaded with the first message: it takes an eighth of the processor time of a start.
    const { Client } = await import('undici')
    const client = new Client(url.origin, {
      connect: { lookup, timeout: connectMs, autoSelectFamily: true },
      maxHeaderSize: answerBytesMax,
      pipelining: 1,
    })
    try {
      const { statusCode, body } = await client.request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Slotline-Webhooks',
          ...signedHeaders(target.secret, message, now()),
        },
        body: message.body,
        signal,
      })
      // The status decides; a receiver that is still writing is not cut off at once.
      await body.dump({ limit: answerBytesMax, signal }).catch(() => {})
      return statusCode
    } finally {
      await client.destroy()
    }
  }
  return async (target, message, stopping) => {
    const startMs = elapsed()
    const end = (status: number | null, problem: string): SendResult => ({
      status,
      problem,
      elapsedMs: Math.round(elapsed() - startMs),
    })
    try {
      const status = await within(sendMs, stopping, signal => post(target, message, signal))
      return end(status, problemOfStatus(status))
    } catch (error) {
      return end(null, problemOf(error, options))
    }
  }
}
