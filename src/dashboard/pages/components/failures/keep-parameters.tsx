import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { toMessage } from '../../hooks/use-loaded.js'
import { formatMoment } from '../../lib/format.js'
import { Failure } from '../shared/failure.js'
import { Managed } from '../shared/managed.js'

/** Switches on for a day that parameters of failed calls are kept. */
export const KeepParameters = ({
  accessId,
  untilMs,
  onChanged,
}: {
  readonly accessId: string
  readonly untilMs: number | null
  readonly onChanged: () => Promise<void>
}) => {
  const { api, announce } = useServices()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<string>()
  const isOn = untilMs !== null
  const change = async (): Promise<void> => {
    if (isBusy) return
    setBusy(true)
    setFailure(undefined)
    try {
      await api.keepParameters(accessId, !isOn)
      await onChanged()
      announce(isOn ? 'Parameters are no longer kept.' : 'Parameters are kept for 24 hours.')
    } catch (error) {
      setFailure(toMessage(error))
    }
    setBusy(false)
  }
  return (
    <div class="keep-parameters">
      <p class="muted">
        {isOn
          ? `The first 1,024 bytes of the parameters of failed calls are kept until ${formatMoment(untilMs)}.`
          : 'Parameters of failed calls are not kept. '}
        {!isOn && 'For 24 hours their first 1,024 bytes can be: never tokens or transactions.'}
      </p>
      <Managed>
        <button type="button" class="button" aria-busy={isBusy} onClick={() => void change()}>
          {isOn ? 'Stop keeping parameters' : 'Keep parameters for 24 hours'}
        </button>
      </Managed>
      {failure !== undefined && <Failure message={failure} onRetry={() => void change()} />}
    </div>
  )
}
