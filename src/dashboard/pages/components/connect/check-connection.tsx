import * as v from 'valibot'
import { useEffect, useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { formatCount } from '../../lib/format.js'
import { Icon } from '../shared/icon.js'
import { toMessage } from '../../hooks/use-loaded.js'
import type { TokenSecret } from '../../lib/wire.js'

/** A location that takes longer does not work. */
const CHECK_TIMEOUT_MS = 10_000

const latestBlockhash = v.object({
  result: v.object({
    context: v.object({ slot: v.number() }),
    value: v.object({ blockhash: v.string(), lastValidBlockHeight: v.number() }),
  }),
})
const failure = v.object({ error: v.object({ message: v.string() }) })

type Result = { readonly isGood: boolean; readonly text: string }

const explainStatus = (status: number, address: string | null): string => {
  if (status === 401)
    return 'Refused (HTTP 401): the location does not know this token. It may have been regenerated or revoked; reload the page.'
  if (status === 403 && address !== null)
    return `Refused (HTTP 403): the token is restricted to ${address}, and this browser has another address.`
  if (status === 403) return 'Refused (HTTP 403): the access is not active.'
  if (status === 429)
    return 'Refused (HTTP 429): the access has reached its request limit. Wait a moment and check again.'
  return `The location answered with HTTP ${status}.`
}

const toResult = async (
  response: Response,
  tookMs: number,
  address: string | null,
): Promise<Result> => {
  if (!response.ok) return { isGood: false, text: explainStatus(response.status, address) }
  const answer: unknown = await response.json().catch(() => undefined)
  const good = v.safeParse(latestBlockhash, answer)
  if (good.success) {
    const { context, value } = good.output.result
    return {
      isGood: true,
      text: `It works. Slot ${formatCount(context.slot)}, blockhash ${value.blockhash}, answered in ${tookMs} ms.`,
    }
  }
  const parsed = v.safeParse(failure, answer)
  const why = parsed.success ? parsed.output.error.message : 'the response is invalid'
  return { isGood: false, text: `The location did not return a blockhash: ${why}.` }
}

const callLocation = async (url: string, address: string | null): Promise<Result> => {
  const started = performance.now()
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getLatestBlockhash' }),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
    })
    return await toResult(response, Math.round(performance.now() - started), address)
  } catch {
    return {
      isGood: false,
      text: 'The location did not answer. It may be down, or your network blocks the connection. The dashboard itself answers.',
    }
  }
}

/** Calls the location with the URL that is copied, from this browser, and shows the result. */
export const CheckConnection = ({
  address,
  getSecret,
}: {
  readonly address: string | null
  readonly getSecret: () => Promise<TokenSecret>
}) => {
  const { announce } = useServices()
  const [isRunning, setRunning] = useState(false)
  const [result, setResult] = useState<Result>()
  // A verdict on a former restriction says nothing about the present one.
  useEffect(() => setResult(undefined), [address])
  const check = async (): Promise<void> => {
    if (isRunning) return
    setRunning(true)
    setResult(undefined)
    const next = await getSecret().then(
      ({ rpcUrl }) => callLocation(rpcUrl, address),
      (error: unknown): Result => ({
        isGood: false,
        text: `The dashboard could not read the token, so the location was not called. ${toMessage(error)}`,
      }),
    )
    setResult(next)
    announce(next.text)
    setRunning(false)
  }
  return (
    <div class="check">
      <button
        type="button"
        class="button"
        aria-disabled={isRunning}
        aria-busy={isRunning}
        onClick={() => void check()}
      >
        <Icon name="pulse" />
        Check
      </button>
      <p class={result === undefined ? 'muted' : result.isGood ? 'is-good-text' : 'is-danger-text'}>
        {result?.text ?? 'Calls getLatestBlockhash through the RPC URL, from this browser.'}
      </p>
    </div>
  )
}
