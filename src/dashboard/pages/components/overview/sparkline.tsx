import { formatCount } from '../../lib/format.js'

const HEIGHT = 20
const STEP = 4
const BAR = 3

/** Bars of the requests of each hour. */
export const Sparkline = ({ hours }: { readonly hours: readonly number[] }) => {
  const top = Math.max(...hours)
  const name =
    top === 0
      ? 'No requests in 24 hours'
      : `Requests by hour, at most ${formatCount(top)}, ${formatCount(hours.at(-1) ?? 0)} in the last`
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${hours.length * STEP} ${HEIGHT}`}
      role="img"
      aria-label={name}
    >
      {hours.map((count, index) => {
        const height = top === 0 ? 1 : Math.max(1, (count / top) * HEIGHT)
        return (
          <rect
            key={index}
            x={index * STEP}
            y={HEIGHT - height}
            width={BAR}
            height={height}
            class={count === 0 ? 'is-empty' : undefined}
          />
        )
      })}
    </svg>
  )
}
