import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger, Ledgers } from './submission-store.js'
import type { Options } from './options.js'
import type { Book } from '../relay/relay-types.js'
import { timeOfId } from './submission-id.js'
import type { Submission } from './submission.js'

/** Pause between two looks. */
const LOOK_MS = 5
/** What is older than this is stored, or will never be. */
const RECENT_MS = 15_000

/** The ledger of this edge to write, and all ledgers of the machine to read. */
export const createBook = (
  { ageMsMax, findMs }: Pick<Options, 'ageMsMax' | 'findMs'>,
  {
    ledger,
    ledgers,
    now,
  }: {
    readonly ledger: Pick<Ledger, 'begin' | 'record' | 'get'>
    readonly ledgers: Pick<Ledgers, 'find'>
    /** Unix milliseconds. */
    readonly now: () => number
  },
): Book => {
  const look = (id: Uint8Array): Submission | undefined => ledger.get(id) ?? ledgers.find(id)
  return {
    begin: (id, submission) => ledger.begin(id, submission),
    record: (id, submission) => ledger.record(id, submission),
    async find(id) {
      const ageMs = now() - timeOfId(id)
      // Of an edge that there is no more, and that nobody prunes.
      if (ageMs > ageMsMax) return undefined
      const endMs = performance.now() + (ageMs < RECENT_MS ? findMs : 0)
      for (;;) {
        const found = look(id)
        const isEnded = found !== undefined && found.outcome !== 'pending'
        // Another edge's answer is with its client a little before it is stored.
        if (isEnded || performance.now() >= endMs) return found
        await sleep(LOOK_MS)
      }
    },
  }
}
