import { useEffect, useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { toMessage } from '../../hooks/use-loaded.js'
import type { TokenScope } from '../../lib/api.js'
import { callLocation, explainCheck, toChecked } from '../../lib/call-location.js'
import type { TokenSecret } from '../../lib/wire.js'
import { Icon } from '../shared/icon.js'

type Result = { readonly isGood: boolean; readonly text: string }

/**
 * Calls the location with the token: from this browser while a URL is shown, otherwise from the
 * service, which does not reveal the token for it.
 */
export const CheckConnection = ({
  scope,
  address,
  secret,
}: {
  readonly scope: TokenScope
  /** The restriction of the token. */
  readonly address: string | null
  /** What the page shows of the token. */
  readonly secret: TokenSecret | undefined
}) => {
  const { announce, api } = useServices()
  const [isRunning, setRunning] = useState(false)
  const [result, setResult] = useState<Result>()
  // A verdict on a former restriction says nothing about the present one.
  useEffect(() => setResult(undefined), [address])
  const call = async (): Promise<Result> => {
    if (secret === undefined) return explainCheck(await api.check(scope), address, 'service')
    return explainCheck(toChecked(await callLocation(secret.rpcUrl)), address, 'browser')
  }
  const check = async (): Promise<void> => {
    if (isRunning) return
    setRunning(true)
    setResult(undefined)
    const next = await call().catch((error: unknown): Result => ({
      isGood: false,
      text: `The location was not called. ${toMessage(error)}`,
    }))
    setResult(next)
    announce(next.text)
    setRunning(false)
  }
  const caller = secret === undefined ? 'the service' : 'this browser'
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
        {result?.text ?? `Calls getLatestBlockhash with this token, from ${caller}.`}
      </p>
    </div>
  )
}
