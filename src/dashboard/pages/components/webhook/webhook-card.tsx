import { useState } from 'preact/hooks'
import { WEBHOOKS_MAX } from '../../../../access/webhooks/bounds.js'
import { useWebhook, type MadeWebhook } from '../../hooks/use-webhook.js'
import { originOf } from '../../lib/alerts/alert-text.js'
import { formatMoment } from '../../lib/format.js'
import type { Webhook } from '../../lib/wire.js'
import { ConfirmDialog } from '../connect/confirm-dialog.js'
import { Failure } from '../shared/failure.js'
import { Icon } from '../shared/icon.js'
import { DeliveryTable } from './delivery-table.js'
import { WebhookForm } from './webhook-form.js'

/** What the person confirms before a webhook is removed. */
const CONFIRM_REMOVE = {
  title: 'Remove the webhook?',
  effects: [
    'Alerts of this access are no longer sent to it, and pending retries are dropped.',
    'The list of its messages and the signing secret are removed. Rules that name it are kept.',
  ],
  action: 'Remove webhook',
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

type ItemProps = {
  readonly accessId: string
  /** Which of the access it is, from 1 on. */
  readonly nth: number
  readonly webhook: Webhook
  /** The secret of one that was just added. */
  readonly made: string | undefined
  readonly reload: () => Promise<void>
}

/** One webhook: where it sends, and what it has sent. */
const WebhookItem = ({ accessId, nth, webhook, made, reload }: ItemProps) => {
  const control = useWebhook({ accessId, webhook, made, reload, onMade: () => {} })
  const [isAsking, setAsking] = useState(false)
  const { goneAtMs, deliveries } = webhook
  const headingId = `${webhook.webhookId}-heading`
  return (
    <section class="webhook" aria-labelledby={headingId}>
      <div class="card-head">
        <h3 id={headingId}>{originOf(webhook)}</h3>
        <span class={`badge ${goneAtMs === null ? 'is-active' : 'is-ended'}`}>
          {goneAtMs === null ? 'On' : 'Off'}
        </span>
      </div>
      {goneAtMs !== null && (
        <GoneNotice goneAtMs={goneAtMs} onResume={() => void control.resume()} />
      )}
      <WebhookForm control={control} onRemove={() => setAsking(true)} />
      <h4>Messages</h4>
      {deliveries.length === 0 ? (
        <p class="muted">Nothing sent yet.</p>
      ) : (
        <DeliveryTable nth={nth} deliveries={deliveries} />
      )}
      {isAsking && (
        <ConfirmDialog
          confirmation={{ ...CONFIRM_REMOVE, run: control.remove }}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  )
}

const NewWebhook = ({
  accessId,
  reload,
  onMade,
}: Pick<ItemProps, 'accessId' | 'reload'> & {
  readonly onMade: (made: MadeWebhook) => void
}) => {
  const control = useWebhook({ accessId, webhook: undefined, made: undefined, reload, onMade })
  return <WebhookForm control={control} onRemove={() => {}} />
}

/** Sends the alerts of an access to receivers of its holder. */
export const WebhooksCard = ({
  accessId,
  webhooks,
  failure,
  reload,
}: Pick<ItemProps, 'accessId' | 'reload'> & {
  readonly webhooks: readonly Webhook[] | undefined
  readonly failure: string | undefined
}) => {
  const [made, setMade] = useState<MadeWebhook>()
  const [isAdding, setAdding] = useState(false)
  const count = webhooks?.length ?? 0
  return (
    <section class="card" aria-labelledby="webhooks-heading">
      <div class="card-head">
        <h2 id="webhooks-heading">Alert webhooks</h2>
        {webhooks !== undefined && count === 0 && <span class="badge is-none">Not set</span>}
      </div>
      <p class="muted">
        Each new alert of {accessId} is sent as a signed request to the webhooks of its rule.
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {webhooks?.map((webhook, index) => (
        <WebhookItem
          key={webhook.webhookId}
          nth={index + 1}
          accessId={accessId}
          webhook={webhook}
          made={made?.webhookId === webhook.webhookId ? made.secret : undefined}
          reload={reload}
        />
      ))}
      {webhooks !== undefined && (count === 0 || isAdding) && (
        <NewWebhook
          accessId={accessId}
          reload={reload}
          onMade={one => {
            setMade(one)
            setAdding(false)
          }}
        />
      )}
      {count > 0 && count < WEBHOOKS_MAX && !isAdding && (
        <div class="webhook-buttons">
          <button type="button" class="button" onClick={() => setAdding(true)}>
            Add a webhook
          </button>
        </div>
      )}
    </section>
  )
}
