import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import type { SecretView } from '../../hooks/use-secret.js'
import { toMessage } from '../../hooks/use-loaded.js'
import { callLocation, type LocationAnswer } from '../../lib/call-location.js'
import { Icon } from '../shared/icon.js'

const titleOf = ({ status, elapsedMs }: LocationAnswer): string =>
  status === null ? 'The location did not answer.' : `HTTP ${status} in ${elapsedMs} ms`

const textOf = ({ body }: LocationAnswer): string =>
  body === undefined ? 'No JSON.' : JSON.stringify(body, undefined, 2)

/** Makes the call of the read samples through the real URL, from this browser. */
export const RunSample = ({ secret }: { readonly secret: SecretView }) => {
  const { announce } = useServices()
  const [isRunning, setRunning] = useState(false)
  const [answer, setAnswer] = useState<LocationAnswer>()
  const [problem, setProblem] = useState<string>()
  const run = async (): Promise<void> => {
    if (isRunning) return
    setRunning(true)
    setAnswer(undefined)
    setProblem(undefined)
    try {
      const next = await callLocation((await secret.get()).rpcUrl)
      setAnswer(next)
      announce(titleOf(next))
    } catch (error) {
      setProblem(toMessage(error))
    }
    setRunning(false)
  }
  return (
    <div class="run-sample">
      <button
        type="button"
        class="button"
        aria-disabled={isRunning}
        aria-busy={isRunning}
        onClick={() => void run()}
      >
        <Icon name="pulse" />
        Run<span class="unseen"> the read sample</span>
      </button>
      {problem !== undefined && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
      {answer !== undefined && <p class="muted">{titleOf(answer)}</p>}
      {answer !== undefined && answer.status !== null && (
        <pre class="failure-params" aria-label="Answer" tabIndex={0}>
          {textOf(answer)}
        </pre>
      )}
    </div>
  )
}
