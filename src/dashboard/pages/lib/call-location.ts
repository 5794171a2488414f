import * as v from 'valibot'
import { formatCount } from './format.js'
import type { Checked } from './wire.js'

/** A location that takes longer does not work. */
const CALL_TIMEOUT_MS = 10_000

const latestBlockhash = v.object({
  result: v.object({
    context: v.object({ slot: v.number() }),
    value: v.object({ blockhash: v.string(), lastValidBlockHeight: v.number() }),
  }),
})
const failure = v.object({ error: v.object({ message: v.string() }) })

/** An answer of a location; `status` is null if there was none, `body` undefined if not JSON. */
export type LocationAnswer = {
  readonly status: number | null
  readonly elapsedMs: number
  readonly body: unknown
}

/** Calls `getLatestBlockhash` at an RPC URL, from this browser. */
export const callLocation = async (url: string): Promise<LocationAnswer> => {
  const started = performance.now()
  const elapsed = (): number => Math.round(performance.now() - started)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getLatestBlockhash' }),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    })
    const body: unknown = await response.json().catch(() => undefined)
    return { status: response.status, elapsedMs: elapsed(), body }
  } catch {
    return { status: null, elapsedMs: elapsed(), body: undefined }
  }
}

/** The same as the service reports it of its own call. */
export const toChecked = ({ status, elapsedMs, body }: LocationAnswer): Checked => {
  const good = v.safeParse(latestBlockhash, body)
  const failed = v.safeParse(failure, body)
  return {
    status,
    elapsedMs,
    slot: good.success ? good.output.result.context.slot : null,
    blockhash: good.success ? good.output.result.value.blockhash : null,
    message: failed.success ? failed.output.error.message : null,
  }
}

/** Who has called the location. */
export type Caller = 'browser' | 'service'

const RESTRICTED: Readonly<Record<Caller, string>> = {
  browser: 'and this browser has another address.',
  service:
    'so the service may not use it. Reveal a URL and check again, to call from this browser.',
}

const explainStatus = (status: number, address: string | null, by: Caller): string => {
  if (status === 401)
    return 'Refused (HTTP 401): the location does not know this token. It may have been regenerated or revoked; reload the page.'
  if (status === 403 && address !== null)
    return `Refused (HTTP 403): the token is restricted to ${address}, ${RESTRICTED[by]}`
  if (status === 403) return 'Refused (HTTP 403): the access is not active.'
  if (status === 429)
    return 'Refused (HTTP 429): the access has reached its request limit. Wait a moment and check again.'
  return `The location answered with HTTP ${status}.`
}

const NO_ANSWER: Readonly<Record<Caller, string>> = {
  browser:
    'The location did not answer. It may be down, or your network blocks the connection. The dashboard itself answers.',
  service: 'The location did not answer the service. It may be down.',
}

/** What a call means, in words. */
export const explainCheck = (
  { status, elapsedMs, slot, blockhash, message }: Checked,
  address: string | null,
  by: Caller,
): { readonly isGood: boolean; readonly text: string } => {
  if (status === null) return { isGood: false, text: NO_ANSWER[by] }
  if (slot !== null && blockhash !== null) {
    const called = by === 'browser' ? 'this browser' : 'the service'
    return {
      isGood: true,
      text: `It works from ${called}. Slot ${formatCount(slot)}, blockhash ${blockhash}, answered in ${elapsedMs} ms.`,
    }
  }
  if (status !== 200) return { isGood: false, text: explainStatus(status, address, by) }
  const why = message ?? 'the response is invalid'
  return { isGood: false, text: `The location did not return a blockhash: ${why}.` }
}
