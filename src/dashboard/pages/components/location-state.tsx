import { formatCount, formatPlural } from '../lib/format.js'
import { HEALTHS } from '../lib/healths.js'
import type { LocationState } from '../lib/wire.js'

const formatLatency = (latency: number | null | undefined): string => {
  if (latency === undefined) return 'measuring'
  if (latency === null) return 'not reachable from this browser'
  return latency < 10 ? `${latency.toFixed(1)} ms` : `${Math.round(latency)} ms`
}

/** Whether a location serves, how far its index is, and how far it is from this browser. */
export const LocationStateLine = ({
  location,
  network,
  latency,
}: {
  /** Undefined until it is loaded. */
  readonly location: LocationState | undefined
  readonly network: string | undefined
  /** In milliseconds; null if the location is not reachable, undefined until it is measured. */
  readonly latency: number | null | undefined
}) => {
  const [tone, name] = HEALTHS[location?.state ?? ''] ?? ['is-none', 'Unknown']
  const at = location?.slots.find(one => one.network === network)
  const lag = at?.lag ?? 0
  return (
    <span class="option-state">
      {location === undefined ? (
        'Loading'
      ) : (
        <>
          <span class={`badge ${tone}`}>{name}</span>
          {at !== undefined && (
            <span>
              slot {formatCount(at.slot)}
              {lag > 0 && `, ${formatPlural(lag, 'slot')} behind`}
            </span>
          )}
          <span>{formatLatency(latency)}</span>
        </>
      )}
    </span>
  )
}
