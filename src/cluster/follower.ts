import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AccessJournal, JournalEntry } from '../access/journal/access-journal.js'
import type { AccessStore } from '../access/store/access-store.js'
import type { Log } from '../shared/log.js'

export type FollowerParts = {
  readonly journal: AccessJournal
  /** This is its one writer. */
  readonly store: AccessStore
  readonly logger: Log
  readonly retryMs: number
  /** Makes the edges read the store again. */
  readonly announce: () => void
  /** A change of accesses was applied. */
  readonly onChanged: () => void
  /** Calls another member of etcd. */
  readonly useNext: () => void
}

const APPLIED = 'applied'

/** Applies the journal of a cluster to the access store of this machine. */
export class Follower {
  private readonly parts: FollowerParts
  private readonly stopping = new AbortController()
  /** Ends the watch, not the follower. */
  private watching = new AbortController()
  private readonly events = new EventEmitter()
  private running = Promise.resolve()
  private revision: number
  /** It has been logged that the journal cannot be followed. */
  private isFailing = false

  constructor(parts: FollowerParts) {
    this.parts = parts
    this.revision = parts.store.cluster === undefined ? 0 : parts.store.revision
  }

  /** Everything up to this revision is in the store. */
  get applied(): number {
    return this.revision
  }

  start(): void {
    this.running = this.follow()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.watching.abort()
    await this.running
  }

  /** Opens the watch again: what it must have sent has not come. */
  restart(): void {
    this.watching.abort()
  }

  /** Resolves with true when a revision is applied, with false if it takes too long. */
  async untilApplied(revision: number, limitMs: number): Promise<boolean> {
    const signal = AbortSignal.timeout(limitMs)
    try {
      while (this.revision < revision) await once(this.events, APPLIED, { signal })
    } catch {
      return false
    }
    return true
  }

  private async follow(): Promise<void> {
    const { journal, logger, retryMs, useNext } = this.parts
    const { signal } = this.stopping
    while (!signal.aborted) {
      this.watching = new AbortController()
      try {
        for await (const entry of journal.follow(this.revision, this.watching.signal))
          await this.apply(entry)
      } catch (error) {
        if (!signal.aborted && !this.isFailing)
          logger.warn({ err: error }, 'the log of accesses cannot be followed')
        this.isFailing = true
      }
      useNext()
      await sleep(retryMs, undefined, { signal }).catch(() => {})
    }
  }

  private async apply({ revision, accesses, isWhole = false }: JournalEntry): Promise<void> {
    const { store, announce, onChanged } = this.parts
    if (revision <= this.revision && !isWhole) return
    const isChanged = isWhole || accesses.length > 0
    if (isChanged)
      await store.transaction(() => {
        if (isWhole) store.replaceAll(accesses, revision)
        else for (const access of accesses) store.putAccess(access)
      })
    // Before the revision: whoever sees it waits for edges that confirm this change.
    if (isChanged) announce()
    this.revision = revision
    this.isFailing = false
    this.events.emit(APPLIED)
    if (isChanged) onChanged()
  }
}
