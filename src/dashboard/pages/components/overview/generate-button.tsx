import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { toMessage } from '../../hooks/use-loaded.js'
import { formatRoute } from '../../lib/route.js'
import type { OverviewScope } from '../../lib/wire.js'

/** Generates the token of a scope, and leads to its URLs. */
export const GenerateButton = ({
  scope,
  name,
  onGenerated,
}: {
  readonly scope: OverviewScope
  readonly name: string
  readonly onGenerated: () => Promise<void>
}) => {
  const { api, announce } = useServices()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<string>()
  const generate = async (): Promise<void> => {
    if (isBusy) return
    setBusy(true)
    setFailure(undefined)
    try {
      await api.generate(scope)
      announce(`The token for ${name} is active.`)
      await onGenerated()
      location.hash = formatRoute({ ...scope, tab: 'connect' })
    } catch (error) {
      const message = toMessage(error)
      setFailure(message)
      announce(message)
    }
    setBusy(false)
  }
  return (
    <>
      <button
        type="button"
        class="button is-quiet"
        aria-busy={isBusy}
        onClick={() => void generate()}
      >
        Generate
        <span class="unseen"> a token for {name}</span>
      </button>
      {failure !== undefined && <span class="field-error">{failure}</span>}
    </>
  )
}
