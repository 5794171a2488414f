import { useState } from 'preact/hooks'
import { useWebhook } from '../../hooks/use-webhook.js'
import { formatMoment } from '../../lib/format.js'
import type { Webhook } from '../../lib/wire.js'
import { ConfirmDialog } from '../connect/confirm-dialog.js'
import { Failure } from '../shared/failure.js'
import { Icon } from '../shared/icon.js'
import { DeliveryTable } from './delivery-table.js'
import { WebhookForm } from './webhook-form.js'

/** What the person confirms before the webhook is removed. */
const CONFIRM_REMOVE = {
  title: 'Remove the webhook?',
  effects: [
    'Warnings for this access are no longer sent, and pending retries are dropped.',
    'The list of its messages and the signing secret are removed. Warnings stay on this page.',
  ],
  action: 'Remove webhook',
}

const badgeOf = (webhook: Webhook | null): readonly [tone: string, text: string] => {
  if (webhook === null) return ['is-none', 'Not set']
  return webhook.goneAtMs === null ? ['is-active', 'On'] : ['is-ended', 'Off']
}

const GoneNotice = ({
  goneAtMs,
  onResume,
}: {
  readonly goneAtMs: number
  readonly onResume: () => void
}) => (
  <div class="notice is-warning" role="status">
    <Icon name="warning" />
    <p>
      Nothing is sent: the receiver answered 410 Gone on {formatMoment(goneAtMs)}. Correct the
      receiver or the URL, then resume.
    </p>
    <button type="button" class="button" onClick={onResume}>
      Resume
    </button>
  </div>
)

/** Sends the warnings of an access to a receiver of its holder. */
export const WebhookCard = ({ accessId }: { readonly accessId: string }) => {
  const control = useWebhook(accessId)
  const { webhook, failure, reload, resume, remove } = control
  const [isAsking, setAsking] = useState(false)
  const [tone, state] = badgeOf(webhook ?? null)
  return (
    <section class="card webhook" aria-labelledby="webhook-heading">
      <div class="card-head">
        <h2 id="webhook-heading">Alert webhook</h2>
        {webhook !== undefined && <span class={`badge ${tone}`}>{state}</span>}
      </div>
      <p class="muted">
        Sends each new warning of {accessId} as a signed request, at most one of a kind an hour.
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {webhook?.goneAtMs !== undefined && webhook.goneAtMs !== null && (
        <GoneNotice goneAtMs={webhook.goneAtMs} onResume={() => void resume()} />
      )}
      {webhook !== undefined && <WebhookForm control={control} onRemove={() => setAsking(true)} />}
      {webhook !== undefined && webhook !== null && (
        <>
          <h3>Messages</h3>
          {webhook.deliveries.length === 0 ? (
            <p class="muted">Nothing sent yet.</p>
          ) : (
            <DeliveryTable deliveries={webhook.deliveries} />
          )}
        </>
      )}
      {isAsking && (
        <ConfirmDialog
          confirmation={{ ...CONFIRM_REMOVE, run: remove }}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  )
}
