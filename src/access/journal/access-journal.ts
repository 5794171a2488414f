import type { AccessDocument, StoredAccess } from '../store/tables.js'

/** A change of one access. */
export type Change = {
  readonly accessId: string
  /**
   * Makes the new document of the current one, which is undefined if the access does not exist.
   * Where it throws, nothing is changed. Called again where another change came first.
   */
  readonly update: (current: AccessDocument | undefined) => AccessDocument
}

/** What the journal has at one revision. */
export type JournalEntry = {
  readonly revision: number
  /** The accesses that changed, as they are after it. */
  readonly accesses: readonly StoredAccess[]
  /** They are all that exist: what led here is not in the journal any more. */
  readonly isWhole?: boolean
}

/**
 * All changes of accesses in one order. A revision counts them; a store that applied all entries up
 * to a revision has the accesses as they were then.
 */
export type AccessJournal = {
  /** Makes a change; resolves with what is stored once that cannot be lost. */
  propose(change: Change): Promise<StoredAccess>
  /**
   * The entries after a revision, in order, then each further one once it cannot be lost. Of an
   * access that changed several times, only the last of the past changes may be among them.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<JournalEntry>
  /** A revision reached after the call began: whatever was changed before has at most it. */
  prove(): Promise<number>
}
