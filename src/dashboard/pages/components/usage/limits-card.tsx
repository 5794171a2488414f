import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { MissingNote } from '../shared/missing-note.js'
import { formatCount, formatMoment, formatPlural, formatRate } from '../../lib/format.js'
import { Meter } from './meter.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { Access, AccessUsage } from '../../lib/wire.js'

/** How often the usage is loaded again. */
const REFRESH_MS = 2_000

/** In place of a note that is not loaded yet, so that it moves nothing. */
const BLANK = '\u00a0'

const peakText = ({ peak, missing }: AccessUsage): string => {
  if (peak === null) return 'No requests in the last 24 hours'
  // Machines of a cluster may have had their peaks in different seconds.
  const atMost = missing === undefined ? '' : 'at most '
  return `Peak of 24 hours: ${atMost}${formatRate(peak.perSecond)}, ${formatMoment(peak.atMs)}`
}

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
    <section class="card is-whole" aria-labelledby="limits-heading">
      <div class="card-head">
        <h2 id="limits-heading" tabIndex={-1}>
          Limits in use
        </h2>
        <p class="muted">Shared by all tokens of {access.accessId}</p>
      </div>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      <MissingNote missing={value?.missing} />
      <div class="meters">
        <Meter
          name="Requests"
          used={value?.requestsLastSecond ?? 0}
          max={limits.requestsPerSecondMax}
          unit="in the last second"
          note={value === undefined ? BLANK : peakText(value)}
        />
        <Meter
          name="In flight"
          used={value?.requestsInFlight ?? 0}
          max={limits.requestsInFlightMax}
          unit="at once"
          note={`Bursts of up to ${formatCount(limits.requestsBurstMax)} after a pause`}
        />
        <Meter name="WebSockets" used={value?.sockets ?? 0} max={limits.socketsMax} unit="open" />
        <Meter
          name="Subscriptions"
          used={value?.subscriptionsOfSocket ?? 0}
          max={limits.subscriptionsPerSocketMax}
          unit="on one WebSocket"
          note={
            value === undefined
              ? BLANK
              : `${formatPlural(value.subscriptions, 'subscription')} on all of them`
          }
        />
      </div>
    </section>
  )
}
