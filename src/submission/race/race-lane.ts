import type { LaneMeter } from './lane-meter.js'
import type { LaneWatch } from './lane-watch.js'
import type { Lane, LaneConfig } from '../lanes/lane.js'
import type { LaneRate } from '../lanes/lane-rate.js'
import type { LaneReport } from '../store/submission.js'

/** A lane, and what it takes. */
export type RaceLane = Pick<
  LaneConfig,
  'id' | 'tipFloorLamports' | 'transactionBytesMax' | 'isProtected'
> & {
  readonly tipAddresses: ReadonlySet<string>
  readonly lane: Lane
  readonly rate: LaneRate
  readonly meter: LaneMeter
  readonly watch: Pick<LaneWatch, 'onEnd'>
}

/** What is known of a transaction that is raced. */
export type RaceTerms = {
  /** It may go to lanes that protect it only. */
  readonly isProtected: boolean
  /** What it pays to whom. */
  readonly paid: readonly { readonly account: string; readonly lamports: number }[]
}

/** Why a lane is not used. */
export type LeftOut = NonNullable<LaneReport['leftOut']>

/** Why a lane cannot carry a transaction; undefined where it can. Its rate is asked last. */
export const leftOutOf = (
  { id: _id, lane, rate, ...of }: RaceLane,
  { isProtected, paid }: RaceTerms,
  { bytes, accessId }: { readonly bytes: number; readonly accessId: string },
): LeftOut | undefined => {
  if (isProtected && !of.isProtected) return 'protection'
  if (bytes > of.transactionBytesMax) return 'size'
  const tip = paid
    .filter(({ account }) => of.tipAddresses.has(account))
    .reduce((sum, { lamports }) => sum + lamports, 0)
  if (tip < of.tipFloorLamports) return 'tip'
  if (lane.isDown()) return 'down'
  return rate.take(accessId) ? undefined : 'rate'
}
