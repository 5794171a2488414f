import { formatAccess, formatRoute } from '../../lib/route.js'
import type { Overview, OverviewScope } from '../../lib/wire.js'
import { Icon } from '../shared/icon.js'

const STEPS: readonly {
  readonly id: keyof Overview['steps']
  /** Of the access; absent: at a location. */
  readonly tab?: 'settings' | 'submissions'
  readonly text: string
}[] = [
  { id: 'token', text: 'Generate a token for a location' },
  { id: 'call', text: 'Make a first call, with a code sample' },
  { id: 'restrict', text: 'Restrict a token to the address of your server' },
  { id: 'webhook', tab: 'settings', text: 'Set an alert webhook' },
  { id: 'land', tab: 'submissions', text: 'Land a transaction' },
]

const hrefOf = (scope: OverviewScope, tab: (typeof STEPS)[number]['tab']): string =>
  tab === undefined ? formatRoute({ ...scope, tab: 'connect' }) : formatAccess(scope.accessId, tab)

/** Whether there is nothing left to do. */
export const isComplete = ({ steps }: Overview): boolean => STEPS.every(({ id }) => steps[id])

/** What a person does first, with what is done; each leads to where it is done. */
export const Checklist = ({
  steps,
  scope,
}: Pick<Overview, 'steps'> & { readonly scope: OverviewScope }) => (
  <section class="card" aria-labelledby="checklist-heading">
    <h2 id="checklist-heading">First steps</h2>
    <ol class="checklist">
      {STEPS.map(({ id, tab, text }) => (
        <li key={id} class={steps[id] ? 'is-done' : undefined}>
          {steps[id] ? <Icon name="check" /> : <span class="step-mark" aria-hidden="true" />}
          <a href={hrefOf(scope, tab)}>{text}</a>
          <span class="unseen">{steps[id] ? ', done' : ', not done yet'}</span>
        </li>
      ))}
    </ol>
  </section>
)
