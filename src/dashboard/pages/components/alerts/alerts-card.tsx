import { RULES_MAX } from '../../../warnings/kinds.js'
import { useMayChange } from '../../hooks/context.js'
import { useAlerts, type AlertControl } from '../../hooks/use-alerts.js'
import { conditionOf, KIND_NAMES, targetsOf } from '../../lib/alerts/alert-text.js'
import type { AlertRule, Webhook } from '../../lib/wire.js'
import { Failure } from '../shared/failure.js'
import { Icon } from '../shared/icon.js'
import { StackedTable } from '../shared/stacked-table.js'
import { newRule, RuleForm } from './rule-form.js'

const COLUMNS = ['When', 'Sent to', 'Actions'] as const

/** The id of the form of a rule that does not exist yet. */
const NEW = 'new'

type Props = { readonly control: AlertControl; readonly webhooks: readonly Webhook[] }

const Actions = ({ control, webhooks, rule }: Props & { readonly rule: AlertRule }) => {
  const { edit, isBusy, remove, replace, test } = control
  const name = KIND_NAMES[rule.kind]
  const buttons: readonly (readonly [string, () => unknown])[] = [
    [rule.isOn ? 'Turn off' : 'Turn on', () => replace({ ...rule, isOn: !rule.isOn })],
    ['Test', () => test(rule, webhooks)],
    ['Edit', () => edit(rule.ruleId)],
    ['Remove', () => remove(rule)],
  ]
  return (
    <div class="webhook-buttons">
      {buttons.map(([label, act]) => (
        <button
          key={label}
          type="button"
          class="button is-quiet"
          aria-disabled={isBusy}
          onClick={() => void act()}
        >
          {label}
          <span class="unseen"> {name}</span>
        </button>
      ))}
    </div>
  )
}

const Row = ({ control, webhooks, rule }: Props & { readonly rule: AlertRule }) => {
  const { edited, edit, isBusy, replace } = control
  const mayChange = useMayChange()
  const name = KIND_NAMES[rule.kind]
  if (edited === rule.ruleId)
    return (
      <tr>
        <th scope="row">{name}</th>
        <td colSpan={COLUMNS.length}>
          <RuleForm
            {...{ rule, webhooks, isBusy }}
            onSave={changed => void replace({ ...rule, ...changed, ruleId: rule.ruleId })}
            onCancel={() => edit(undefined)}
          />
        </td>
      </tr>
    )
  return (
    <tr>
      <th scope="row">
        {name}{' '}
        <span class={`badge ${rule.isOn ? 'is-active' : 'is-none'}`}>
          {rule.isOn ? 'On' : 'Off'}
        </span>
      </th>
      <td class="is-wrapping" data-label={COLUMNS[0]}>
        <div>{conditionOf(rule)}</div>
      </td>
      <td class="is-wrapping" data-label={COLUMNS[1]}>
        <div>{targetsOf(rule, webhooks)}</div>
      </td>
      {mayChange && (
        <td data-label={COLUMNS[2]}>
          <Actions {...{ control, webhooks, rule }} />
        </td>
      )}
    </tr>
  )
}

/** The rules by which the holder of an access is alerted. */
export const AlertsCard = ({
  accessId,
  webhooks,
}: {
  readonly accessId: string
  readonly webhooks: readonly Webhook[]
}) => {
  const control = useAlerts(accessId)
  const mayChange = useMayChange()
  const { rules, failure, reload, edited, edit, outcome, isBusy, add } = control
  const isWrong = outcome !== undefined && !outcome.isGood
  return (
    <section class="card alerts is-whole" aria-labelledby="alerts-heading">
      <h2 id="alerts-heading">Alerts</h2>
      <p class="muted">
        What a rule finds is shown above the tabs, and sent to webhooks: at most one message of a
        rule an hour.
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {rules !== undefined && rules.length === 0 && <p class="muted">No rules.</p>}
      {rules !== undefined && rules.length > 0 && (
        <StackedTable
          label="Alert rules"
          columns={['Rule', ...COLUMNS.slice(0, mayChange ? 3 : 2)]}
        >
          {rules.map(rule => (
            <Row key={rule.ruleId} {...{ control, webhooks, rule }} />
          ))}
        </StackedTable>
      )}
      {edited === NEW && (
        <RuleForm
          rule={newRule('errors-rising')}
          webhooks={webhooks}
          isBusy={isBusy}
          onSave={rule => void add(rule)}
          onCancel={() => edit(undefined)}
        />
      )}
      {mayChange && rules !== undefined && edited !== NEW && rules.length < RULES_MAX && (
        <div class="webhook-buttons">
          <button type="button" class="button" onClick={() => edit(NEW)}>
            Add a rule
          </button>
        </div>
      )}
      <p class={isWrong ? 'field-error' : 'field-good'} role={isWrong ? 'alert' : undefined}>
        {outcome !== undefined && <Icon name={isWrong ? 'warning' : 'check'} />}
        {outcome?.text}
      </p>
    </section>
  )
}
