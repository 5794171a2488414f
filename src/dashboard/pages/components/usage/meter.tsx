import { formatCount, formatRate } from '../../lib/format.js'

/** A limit and its utilisation. */
export const Meter = ({
  name,
  used,
  max,
  unit,
  note,
}: {
  readonly name: string
  readonly used: number
  readonly max: number
  readonly unit: string
  readonly note?: string | undefined
}) => {
  const share = max === 0 ? 1 : used / max
  return (
    <div class="meter">
      <div class="meter-head">
        <span>{name}</span>
        <span class="muted">
          <strong>{formatRate(used)}</strong> of {formatCount(max)} {unit}
        </span>
      </div>
      <meter
        min={0}
        max={Math.max(1, max)}
        high={Math.max(1, max) * 0.8}
        optimum={0}
        value={Math.min(used, max)}
        aria-label={`${name}: ${Math.round(share * 100)} %`}
      />
      {note !== undefined && <p class="muted">{note}</p>}
    </div>
  )
}
