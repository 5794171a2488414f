import type { AccessJournal } from '../../access/journal/access-journal.js'
import type { EdgeNotifier } from '../../access/service.js'
import type { AccessStore } from '../../access/store/access-store.js'
import type { MachineDirectory } from '../../cluster/machine-directory.js'

/** Where accesses are read and changed, and how a change comes into effect. */
export type AccessSource = {
  readonly store: AccessStore
  /** Of it, what is changed is read in the store at once. */
  readonly accessJournal: AccessJournal
  /** The same changes, which the store has when the notifier has waited for them. */
  readonly changeJournal: AccessJournal
  readonly notifier: EdgeNotifier
  /** Of the cluster; undefined of a machine by itself. */
  readonly machines?: MachineDirectory
  close(): Promise<void>
}
