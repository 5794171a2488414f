import { type FeedEntry, withBank } from './feed-entry.js'
import type { SlotStatus } from './messages.js'
import type { BankFault } from './slot-faults.js'

/** The updates of one bank. */
export type BankEntries = {
  readonly writes: readonly FeedEntry[]
  /** The block and its meta. */
  readonly block: readonly FeedEntry[]
  readonly status: (status: SlotStatus) => FeedEntry
}

/** Faults whose slot begins with the bank that is abandoned. */
export const beginsWithLost = (fault: BankFault | undefined): boolean =>
  fault === 'handover' || fault === 'dead'

/** Updates of a slot at confirmed, of the bank that the chain took and of the lost one. */
export const orderBanks = (
  fault: BankFault,
  taken: BankEntries,
  lost: BankEntries,
): readonly FeedEntry[] => {
  const confirmed = [...taken.block, taken.status('confirmed')]
  switch (fault) {
    case 'handover':
      return [
        ...lost.writes,
        taken.status('createdBank'),
        ...taken.writes,
        ...lost.writes,
        ...confirmed,
        ...lost.writes,
      ]
    case 'equivocation':
      return [
        lost.status('createdBank'),
        ...lost.writes,
        ...lost.block,
        lost.status('processed'),
        ...taken.writes,
        ...confirmed,
        taken.status('finalized'),
        ...lost.block,
      ]
    case 'dead':
      return [
        ...lost.writes,
        lost.status('dead'),
        taken.status('createdBank'),
        ...taken.writes,
        ...lost.writes,
        ...taken.block,
        taken.status('finalized'),
      ]
    case 'skipped':
      return [
        lost.status('createdBank'),
        ...lost.writes,
        ...taken.writes,
        ...confirmed,
        ...lost.writes,
      ]
    case 'undecided':
      return [
        lost.status('createdBank'),
        ...lost.writes,
        ...lost.block,
        ...taken.writes,
        ...taken.block,
      ]
    case 'early':
      return [
        ...taken.writes,
        taken.status('createdBank'),
        taken.status('confirmed'),
        ...taken.block,
      ]
    case 'replayed': {
      const created = lost.status('createdBank')
      const again = [...taken.writes, ...taken.block].map(entry =>
        created.bank === undefined ? entry : withBank(entry, created.bank),
      )
      return [created, ...again, ...taken.writes, ...confirmed]
    }
  }
}
