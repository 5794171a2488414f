import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { formatCount } from '../../lib/format.js'
import { Meter } from './meter.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { Access } from '../../lib/wire.js'

/** How often the usage is loaded again. */
const REFRESH_MS = 3_000

/** Limits and utilisation of an access, over all its locations and tokens. */
export const LimitsCard = ({ access }: { readonly access: Access }) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded(
    access.accessId,
    () => api.accessUsage(access.accessId),
    REFRESH_MS,
  )
  const limits = value?.limits ?? access.limits
  return (
    <section class="card" aria-labelledby="limits-heading">
      <div class="card-head">
        <h2 id="limits-heading">Limits in use</h2>
        <p class="muted">Shared by all tokens of {access.accessId}</p>
      </div>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      <div class="meters">
        <Meter
          name="Requests"
          used={value?.requestsPerSecond ?? 0}
          max={limits.requestsPerSecondMax}
          unit="per second"
        />
        <Meter
          name="In flight"
          used={value?.requestsInFlight ?? 0}
          max={limits.requestsInFlightMax}
          unit="at once"
        />
        <Meter name="WebSockets" used={value?.sockets ?? 0} max={limits.socketsMax} unit="open" />
      </div>
      <p class="muted">
        Bursts of up to {formatCount(limits.requestsBurstMax)} requests after a pause, and{' '}
        {formatCount(limits.subscriptionsPerSocketMax)} subscriptions per WebSocket. Over a limit
        requests are answered HTTP 429 with the name of the limit.
      </p>
    </section>
  )
}
