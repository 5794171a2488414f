import { AsyncLocalStorage } from 'node:async_hooks'
import type { AccessDocument } from '../store/tables.js'
import type { AccessJournal } from './access-journal.js'

/** Throws an RpcError if who asks for a change may not change this access any more. */
export type MayChange = (access: AccessDocument) => void

/** Someone who asks for changes, until that has ended, and whether anything was changed. */
type Asking = { mayChange: MayChange | undefined; hasChanged: boolean }

const asking = new AsyncLocalStorage<Asking>()

/**
 * Runs `work` for someone whose right can be taken away. What it changes is checked against the
 * very document that the change replaces, so nothing that it changes comes after the end of the
 * right, on whichever machine of a cluster either of them was asked for. Resolves with the result,
 * and whether anything was changed.
 */
export const runFor = async <T>(
  mayChange: MayChange,
  work: () => T | Promise<T>,
): Promise<{ readonly result: T; readonly hasChanged: boolean }> => {
  const own: Asking = { mayChange, hasChanged: false }
  try {
    const result = await asking.run(own, work)
    return { result, hasChanged: own.hasChanged }
  } finally {
    // A timer that the work has started is no part of it.
    own.mayChange = undefined
  }
}

/** The same journal for changes that people and programs ask for. */
export const createCheckedJournal = (journal: AccessJournal): AccessJournal => ({
  propose: async ({ accessId, update }) => {
    const own = asking.getStore()
    const stored = await journal.propose({
      accessId,
      update: current => {
        if (current !== undefined) own?.mayChange?.(current)
        return update(current)
      },
    })
    if (own !== undefined) own.hasChanged = true
    return stored
  },
  follow: (after, signal) => journal.follow(after, signal),
  prove: () => journal.prove(),
})
