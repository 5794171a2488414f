import { AsyncLocalStorage } from 'node:async_hooks'
import type { AccessDocument } from '../store/tables.js'
import type { AccessJournal } from './access-journal.js'

/** Throws an RpcError if who asks for a change may not change this access any more. */
export type MayChange = (access: AccessDocument) => void

const asking = new AsyncLocalStorage<MayChange>()

/**
 * Runs `work` for someone whose right can be taken away. What it changes is checked against the
 * very document that the change replaces, so nothing that it changes comes after the end of the
 * right, on whichever machine of a cluster either of them was asked for.
 */
export const runFor = <T>(mayChange: MayChange, work: () => T): T => asking.run(mayChange, work)

/** The same journal for changes that people and programs ask for. */
export const createCheckedJournal = (journal: AccessJournal): AccessJournal => ({
  propose: ({ accessId, update }) => {
    const mayChange = asking.getStore()
    return journal.propose({
      accessId,
      update: current => {
        if (current !== undefined) mayChange?.(current)
        return update(current)
      },
    })
  },
  follow: (after, signal) => journal.follow(after, signal),
  prove: () => journal.prove(),
})
