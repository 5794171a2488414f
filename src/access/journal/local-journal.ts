import { EventEmitter, once } from 'node:events'
import type { AccessStore } from '../store/access-store.js'
import type { StoredAccess } from '../store/tables.js'
import type { RandomBytes } from '../tokens/location-token.js'
import type { AccessJournal, Change, JournalEntry } from './access-journal.js'
import { createChangeId } from './change-id.js'

/** The journal of a machine by itself: the access store that this process writes. */
class LocalJournal implements AccessJournal {
  private readonly store: AccessStore
  private readonly randomBytes: RandomBytes
  private readonly changes = new EventEmitter().setMaxListeners(0)

  constructor(store: AccessStore, randomBytes: RandomBytes) {
    this.store = store
    this.randomBytes = randomBytes
  }

  async propose({ accessId, update }: Change): Promise<StoredAccess> {
    const { store } = this
    const changed = await store.transaction(() => {
      const access = {
        ...update(store.accesses.get(accessId)),
        changeId: createChangeId(this.randomBytes),
        revision: store.revision + 1,
      }
      store.putAccess(access)
      return access
    })
    this.changes.emit('change')
    return changed
  }

  async *follow(after: number, signal: AbortSignal): AsyncGenerator<JournalEntry> {
    let seen = after
    while (!signal.aborted) {
      // Before the store is read: a change after this line is not missed.
      const changed = once(this.changes, 'change', { signal }).catch(() => {})
      for (const access of this.changedSince(seen)) {
        seen = access.revision
        yield { revision: seen, accesses: [access] }
      }
      await changed
    }
  }

  prove(): Promise<number> {
    return Promise.resolve(this.store.revision)
  }

  private changedSince(revision: number): readonly StoredAccess[] {
    return Array.from(this.store.accesses.from(''), ([, access]) => access)
      .filter(access => access.revision > revision)
      .toSorted((a, b) => a.revision - b.revision)
  }
}

export const createLocalJournal = (options: {
  readonly store: AccessStore
  readonly randomBytes: RandomBytes
}): AccessJournal => new LocalJournal(options.store, options.randomBytes)
