import { setTimeout as wait } from 'node:timers/promises'
import { readBase, type RpcBase } from '../accounts-rpc/base.js'
import { Rpc, type RpcTarget } from '../accounts-rpc/client.js'
import type { Options } from '../accounts-rpc/options.js'
import { type ListedScope, readScope, type ScopeProgress } from '../accounts-rpc/scope.js'

/** Makes a store of rows: of each account it keeps the newest. */
export type ScopeLoader = {
  push(order: number, packed: Uint8Array): Promise<void>
  finish(dir: string, base: LoaderBase): Promise<unknown>
  cancel(): void
  close(): void
}

type LoaderBase = Omit<RpcBase, 'blockTime'> & { readonly blockTime?: number }

/** Dependencies of a load from an upstream RPC. */
export type ScopeParts = {
  readonly target: RpcTarget
  readonly options: Options
  readonly scope: ListedScope
  readonly openLoader: () => ScopeLoader
}

/** The first block that the feed has spooled; undefined before it. */
export type SpooledFirst = { readonly slot: number; readonly parentSlot: number } | undefined

type Loading = {
  readonly first: SpooledFirst
  /** Folder of the new store. */
  readonly dir: string
  readonly show: (progress: {
    readonly done: number
    readonly total: number
    readonly unit: string
    readonly detail: string
  }) => void
  readonly signal: AbortSignal
}

/** All rows have one source: of rows of the same slot the last one wins. */
const ORDER = 0

const describe = ({ bytes, requests, rows, what }: ScopeProgress) => ({
  done: rows,
  // The total is unknown.
  total: 0,
  unit: 'accounts',
  detail: `${what}: ${requests} requests, ${bytes} bytes`,
})

/**
 * Reads the scope from an upstream RPC and makes a store of it at `dir`. Answers the slot of its
 * tip, and the newest slot that a row is of: between the two the store is not one moment of the
 * chain.
 */
export const loadScope = async (
  { openLoader, options, scope, target }: ScopeParts,
  { dir, first, show, signal }: Loading,
): Promise<{ readonly slot: number; readonly rowsSlot: number }> => {
  if (first === undefined) throw new Error('no block is spooled yet')
  const rpc = new Rpc(target, options, { signal })
  const loader = openLoader()
  const cancel = (): void => loader.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const { highestSlot, lowestSlot } = await readScope(rpc, options, {
      scope,
      // A base in the spool: the block after it is there too, or will be.
      minContextSlot: first.slot,
      push: rows => loader.push(ORDER, rows),
      onProgress: progress => show(describe(progress)),
      signal,
      sleep: ms => wait(ms, undefined, { signal }),
    })
    const newestSlot = lowestSlot
    const { blockTime, ...base } = await readBase(rpc, { newestSlot, oldestSlot: first.parentSlot })
    await loader.finish(dir, { ...base, ...(blockTime === undefined ? {} : { blockTime }) })
    return { slot: base.slot, rowsSlot: highestSlot }
  } finally {
    signal.removeEventListener('abort', cancel)
    loader.close()
    await rpc.close()
  }
}
