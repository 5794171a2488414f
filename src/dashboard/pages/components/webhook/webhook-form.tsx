import type { WebhookControl } from '../../hooks/use-webhook.js'
import { Icon } from '../shared/icon.js'
import { ValueField } from '../shared/value-field.js'

const MASKED = 'whsec_••••••••'

const SigningSecret = ({ secret }: Pick<WebhookControl, 'secret'>) => (
  <div class="webhook-secret">
    <p class="muted">Signing secret</p>
    <ValueField
      name="signing secret"
      value={secret.secret ?? MASKED}
      getText={secret.get}
      reveal={{ isShown: secret.secret !== undefined, toggle: secret.toggle }}
    />
  </div>
)

/** Where alerts are sent: the URL, its signing secret, and a test. */
export const WebhookForm = ({
  control,
  onRemove,
}: {
  readonly control: WebhookControl
  readonly onRemove: () => void
}) => {
  const { webhook, secret, url, edit, outcome, isBusy, field, save, test } = control
  const isSet = webhook !== undefined
  const id = webhook?.webhookId ?? 'new-webhook'
  const isWrong = outcome !== undefined && !outcome.isGood
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault()
        void save()
      }}
    >
      <label for={`${id}-url`}>URL</label>
      <div class="field-row">
        <input
          ref={field}
          id={`${id}-url`}
          class="field"
          inputMode="url"
          autoComplete="off"
          spellcheck={false}
          placeholder="https://"
          value={url}
          aria-invalid={outcome?.isUrlWrong === true}
          aria-describedby={`${id}-help ${id}-outcome`}
          onInput={event => edit(event.currentTarget.value)}
        />
        <button class="button is-primary" aria-busy={isBusy} aria-disabled={isBusy}>
          {isSet ? 'Replace' : 'Save'}
        </button>
      </div>
      <p id={`${id}-help`} class="muted">
        An https URL at a public address. {isSet ? 'Replacing it' : 'Saving it'} makes a new signing
        secret.
      </p>
      {isSet && <SigningSecret secret={secret} />}
      {isSet && (
        <div class="webhook-buttons">
          <button type="button" class="button" aria-disabled={isBusy} onClick={() => void test()}>
            Send a test
          </button>
          <button type="button" class="button is-danger-quiet" onClick={onRemove}>
            Remove<span class="unseen"> the webhook</span>
          </button>
        </div>
      )}
      <p
        id={`${id}-outcome`}
        class={isWrong ? 'field-error' : 'field-good'}
        role={isWrong ? 'alert' : undefined}
      >
        {outcome !== undefined && <Icon name={isWrong ? 'warning' : 'check'} />}
        {outcome?.text}
      </p>
    </form>
  )
}
