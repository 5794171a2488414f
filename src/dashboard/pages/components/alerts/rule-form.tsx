import { useState } from 'preact/hooks'
import { KINDS, WARNING_KINDS, type WarningKind } from '../../../warnings/kinds.js'
import { formatWindow, KIND_NAMES, originOf, UNITS } from '../../lib/alerts/alert-text.js'
import type { WantedAlertRule, Webhook } from '../../lib/wire.js'
import { NumberField } from './number-field.js'

const COUNTED: Readonly<Partial<Record<WarningKind, string>>> = {
  'errors-rising': 'errors',
  'p99-high': 'calls',
  'landing-rate-low': 'submissions',
}

/** A new rule of a kind, with the values of the default rule. */
export const newRule = (kind: WarningKind): WantedAlertRule => {
  const { threshold, windows, countMin } = KINDS[kind]
  return {
    kind,
    isOn: true,
    threshold: threshold.default,
    windowMinutes: windows?.[0] ?? 0,
    countMin: countMin?.default ?? 0,
    onlyRising: false,
    method: '',
    webhooks: null,
    sendsResolved: false,
  }
}

const Check = ({
  id,
  label,
  isOn,
  onChange,
}: {
  readonly id: string
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
}) => (
  <div class="alert-check">
    <input
      id={id}
      type="checkbox"
      checked={isOn}
      onChange={event => onChange(event.currentTarget.checked)}
    />
    <label for={id}>{label}</label>
  </div>
)

type FormProps = {
  /** Of the elements. */
  readonly id: string
  readonly rule: WantedAlertRule
  readonly onChange: (rule: WantedAlertRule) => void
}

/** The numbers of a rule, as its kind has them. */
const Thresholds = ({ id, rule, onChange }: FormProps) => {
  const { threshold, windows, countMin, hasMethod } = KINDS[rule.kind]
  return (
    <div class="filters">
      <NumberField
        id={`${id}-threshold`}
        label="Threshold"
        unit={UNITS[threshold.unit]}
        value={rule.threshold}
        range={threshold}
        onChange={value => onChange({ ...rule, threshold: value })}
      />
      {windows !== undefined && (
        <div class="filter">
          <label for={`${id}-window`}>In the last</label>
          <select
            id={`${id}-window`}
            class="field"
            value={rule.windowMinutes}
            onChange={event =>
              onChange({ ...rule, windowMinutes: Number(event.currentTarget.value) })
            }
          >
            {windows.map(minutes => (
              <option key={minutes} value={minutes}>
                {formatWindow(minutes)}
              </option>
            ))}
          </select>
        </div>
      )}
      {countMin !== undefined && (
        <NumberField
          id={`${id}-count`}
          label="From"
          unit={COUNTED[rule.kind] ?? ''}
          value={rule.countMin}
          range={countMin}
          onChange={value => onChange({ ...rule, countMin: value })}
        />
      )}
      {hasMethod === true && (
        <div class="filter">
          <label for={`${id}-method`}>Method, or all</label>
          <input
            id={`${id}-method`}
            class="field"
            autoComplete="off"
            spellcheck={false}
            maxLength={64}
            value={rule.method}
            onInput={event => onChange({ ...rule, method: event.currentTarget.value.trim() })}
          />
        </div>
      )}
    </div>
  )
}

/** The webhooks that a rule is sent to. */
const Targets = ({
  id,
  rule,
  onChange,
  webhooks,
}: FormProps & { readonly webhooks: readonly Webhook[] }) => {
  const chosen = rule.webhooks
  const toggle = (webhookId: string, isOn: boolean): void => {
    const others = (chosen ?? []).filter(one => one !== webhookId)
    onChange({ ...rule, webhooks: isOn ? [...others, webhookId] : others })
  }
  return (
    <fieldset class="alert-targets">
      <legend>Sent to</legend>
      <Check
        id={`${id}-all`}
        label="Every webhook"
        isOn={chosen === null}
        onChange={isOn => onChange({ ...rule, webhooks: isOn ? null : [] })}
      />
      {chosen !== null &&
        webhooks.map(webhook => (
          <Check
            key={webhook.webhookId}
            id={`${id}-${webhook.webhookId}`}
            label={originOf(webhook)}
            isOn={chosen.includes(webhook.webhookId)}
            onChange={isOn => toggle(webhook.webhookId, isOn)}
          />
        ))}
    </fieldset>
  )
}

/** Changes a rule, or makes a new one; of that the kind is chosen, too. */
export const RuleForm = ({
  rule: given,
  webhooks,
  isBusy,
  onSave,
  onCancel,
}: {
  readonly rule: WantedAlertRule
  readonly webhooks: readonly Webhook[]
  readonly isBusy: boolean
  readonly onSave: (rule: WantedAlertRule) => void
  readonly onCancel: () => void
}) => {
  const [rule, setRule] = useState(given)
  const isNew = given.ruleId === undefined
  const id = `rule-${given.ruleId ?? 'new'}`
  const parts = { id, rule, onChange: setRule }
  return (
    <form
      class="alert-form"
      aria-label={isNew ? 'New rule' : KIND_NAMES[rule.kind]}
      onSubmit={event => {
        event.preventDefault()
        onSave(rule)
      }}
    >
      {isNew && (
        <div class="filter">
          <label for={`${id}-kind`}>Kind</label>
          <select
            id={`${id}-kind`}
            class="field"
            value={rule.kind}
            onChange={event => {
              const kind = WARNING_KINDS.find(one => one === event.currentTarget.value)
              if (kind !== undefined) setRule(newRule(kind))
            }}
          >
            {WARNING_KINDS.map(kind => (
              <option key={kind} value={kind}>
                {KIND_NAMES[kind]}
              </option>
            ))}
          </select>
        </div>
      )}
      <Thresholds {...parts} />
      {KINDS[rule.kind].canRise === true && (
        <Check
          id={`${id}-rising`}
          label="Only if twice the share of the hour before"
          isOn={rule.onlyRising}
          onChange={onlyRising => setRule({ ...rule, onlyRising })}
        />
      )}
      <Targets {...parts} webhooks={webhooks} />
      <Check
        id={`${id}-resolved`}
        label="Send its end, too"
        isOn={rule.sendsResolved}
        onChange={sendsResolved => setRule({ ...rule, sendsResolved })}
      />
      <div class="webhook-buttons">
        <button class="button is-primary" aria-busy={isBusy} aria-disabled={isBusy}>
          {isNew ? 'Add rule' : 'Save rule'}
        </button>
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}
