import * as v from 'valibot'
import { useState } from 'preact/hooks'
import { useServices } from '../hooks/context.js'
import { formatCount } from '../lib/format.js'
import { Icon } from './icon.js'
import { toMessage } from '../hooks/use-loaded.js'
import type { TokenSecret } from '../lib/wire.js'

/** Longest wait for the location: a read that takes longer is no working endpoint. */
const CHECK_TIMEOUT_MS = 10_000

const latestBlockhash = v.object({
  result: v.object({
    context: v.object({ slot: v.number() }),
    value: v.object({ blockhash: v.string(), lastValidBlockHeight: v.number() }),
  }),
})
const failure = v.object({ error: v.object({ message: v.string() }) })

type Seen = { readonly isGood: boolean; readonly text: string }

const explainStatus = (status: number, address: string | null): string => {
  if (status === 401)
    return 'Refused (HTTP 401): this token is not known at this location. It may just have been replaced or revoked; reload the page.'
  if (status === 403 && address !== null)
    return `Refused (HTTP 403): the token works from ${address} only, and this browser has another address. That is what the restriction is for.`
  if (status === 403) return 'Refused (HTTP 403): the access does not hold now.'
  if (status === 429)
    return 'Refused (HTTP 429): the access is at its limit of requests. Wait a moment and check again.'
  return `The location answered with HTTP ${status}.`
}

const judge = async (response: Response, tookMs: number, address: string | null): Promise<Seen> => {
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
  const said = v.safeParse(failure, answer)
  const why = said.success ? said.output.error.message : 'the answer is not what was asked for'
  return { isGood: false, text: `The location answered, but without a blockhash: ${why}.` }
}

const callThrough = async (url: string, address: string | null): Promise<Seen> => {
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
    return await judge(response, Math.round(performance.now() - started), address)
  } catch {
    return {
      isGood: false,
      text: 'No answer from this location. It may be down, or your network does not let you through to it.',
    }
  }
}

/**
 * Calls the location through the very URL that is copied, from this browser, and says what came
 * back.
 */
export const CheckConnection = ({
  address,
  getSecret,
}: {
  readonly address: string | null
  readonly getSecret: () => Promise<TokenSecret>
}) => {
  const { announce } = useServices()
  const [isRunning, setRunning] = useState(false)
  const [seen, setSeen] = useState<Seen>()
  const check = async (): Promise<void> => {
    if (isRunning) return
    setRunning(true)
    const result = await getSecret().then(
      ({ rpcUrl }) => callThrough(rpcUrl, address),
      (error: unknown): Seen => ({ isGood: false, text: toMessage(error) }),
    )
    setSeen(result)
    announce(result.text)
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
      <p class={seen === undefined ? 'muted' : seen.isGood ? 'is-good-text' : 'is-danger-text'}>
        {seen?.text ?? 'Calls getLatestBlockhash through the RPC URL, from this browser.'}
      </p>
    </div>
  )
}
