import { setTimeout as sleep } from 'node:timers/promises'
import type { Options } from './options.js'
import { timeOfId } from './submission-id.js'
import type { StoredSubmission, Submission } from './submission.js'

/** Pause between two reads of a submission that is about to be stored. */
const PAUSE_MS = 5
/** An older submission is stored, or never will be. */
const RECENT_MS = 15_000

/**
 * Reads a submission. A reply may reach the client shortly before it is stored, so a
 * recent one is read again for up to `findMs`.
 */
export const findSubmission = async (
  id: Uint8Array,
  parts: {
    readonly read: () => Submission | undefined
    /** Unix milliseconds. */
    readonly now: () => number
    readonly options: Pick<Options, 'ageMsMax' | 'findMs'>
  },
): Promise<Submission | undefined> => {
  const { now, options, read } = parts
  const ageMs = now() - timeOfId(id)
  // Not pruned yet.
  if (ageMs > options.ageMsMax) return undefined
  const endMs = performance.now() + (ageMs < RECENT_MS ? options.findMs : 0)
  for (;;) {
    const found = read()
    const isEnded = found !== undefined && found.outcome !== 'pending'
    if (isEnded || performance.now() >= endMs) return found
    await sleep(PAUSE_MS)
  }
}

/** Pause between two look-ups by a signature, which take longer than one by an id. */
const SIGNED_PAUSE_MS = 10

/**
 * Reads a submission by a signature. It does not say when it was received, so each is read again
 * for up to `findMs`.
 */
export const findSigned = async (
  read: () => StoredSubmission | undefined,
  { findMs }: Pick<Options, 'findMs'>,
): Promise<StoredSubmission | undefined> => {
  const endMs = performance.now() + findMs
  for (;;) {
    const found = read()
    if (found !== undefined || performance.now() >= endMs) return found
    await sleep(SIGNED_PAUSE_MS)
  }
}
