import { useMayChange, useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { WebhooksCard } from '../webhook/webhook-card.js'
import { AlertsCard } from './alerts-card.js'

/** How often webhooks and their messages are loaded again. */
const REFRESH_MS = 5_000

const ManagedAlerts = ({ accessId }: { readonly accessId: string }) => {
  const { api } = useServices()
  const loaded = useLoaded(accessId, () => api.webhooks(accessId), REFRESH_MS)
  const webhooks = loaded.value?.webhooks
  return (
    <>
      <AlertsCard accessId={accessId} webhooks={webhooks ?? []} />
      <WebhooksCard
        accessId={accessId}
        webhooks={webhooks}
        failure={loaded.failure}
        reload={loaded.reload}
      />
    </>
  )
}

/** What those see who may not read where alerts are sent. */
const HiddenWebhooks = () => (
  <section class="card" aria-labelledby="webhooks-heading">
    <h2 id="webhooks-heading">Alert webhooks</h2>
    <p class="muted">Their URLs are secret: only people who manage the access see them.</p>
  </section>
)

/** When the holder of an access is alerted, and over which webhooks. */
export const AlertCards = ({ accessId }: { readonly accessId: string }) =>
  useMayChange() ? (
    <ManagedAlerts accessId={accessId} />
  ) : (
    <>
      <AlertsCard accessId={accessId} webhooks={[]} />
      <HiddenWebhooks />
    </>
  )
