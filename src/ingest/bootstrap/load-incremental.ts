import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { printableLocation, type StepProgress } from '../../shared/indexer-status.js'
import { NativeError } from '../../native/errors.js'
import type { StoreCopy } from '../../native/store-copy.js'
import type { LoadedArchive, StoreLoader } from '../../native/loader.js'
import { RpcReadFailure } from '../accounts-rpc/failure.js'
import type { FindBlock } from '../accounts-rpc/find-block.js'
import type { LoadedBase, LoadStore, SpoolView } from './bootstrap.js'
import {
  baseOf,
  demandFresh,
  readArchive,
  showRows,
  untilFresh,
  watched,
  type SnapshotOptions,
} from './load-snapshot.js'
import { startSlotOf, type SnapshotName } from './snapshot-location.js'

type StoreTip = { readonly slot: number; readonly blockhash: string }

/** The live store, which is only read. */
export type LiveStore = StoreCopy & {
  tip(): StoreTip | undefined
  stats(): { readonly usedBytes: number }
}

/** Dependencies of an incremental load. */
export type IncrementalParts = {
  readonly location: string
  readonly openLoader: () => StoreLoader
  /** Undefined where there is none. */
  readonly live: () => LiveStore | undefined
  /** Folder for the copy, on the disk of the stores. It does not exist yet. */
  readonly copyDir: string
  readonly options: SnapshotOptions
  /** Undefined where no upstream RPC is configured. */
  readonly findBlock?: FindBlock | undefined
}

/** LMDB's name for the file of a store. */
const DATA = 'data.mdb'

/**
 * Throws if an archive lacks changes that the store misses. Answers the slot that it builds on.
 */
const demandContinues = (
  location: string,
  { base }: Pick<SnapshotName, 'base'>,
  tip: number,
): number => {
  if (base !== undefined && base <= tip) return base
  throw new Error(
    base === undefined
      ? `${printableLocation(location)} is a full snapshot: a store is brought up to date from an incremental one`
      : `${printableLocation(location)} contains the changes after slot ${base}, but the store ends at slot ${tip}: load the full snapshot of slot ${base} as well`,
  )
}

const demandNewer = (location: string, { slot }: { readonly slot: number }, tip: number): void => {
  if (slot < tip)
    throw new Error(
      `${printableLocation(location)} ends at slot ${slot}, but the store is at slot ${tip}`,
    )
}

/**
 * Throws if the store may end on another fork than the archive's: changes of the chain do not
 * undo what the fork wrote. An archive names its last blocks only; of an older one the upstream RPC
 * tells. Answers the blockhash that it has told of.
 */
const demandSameChain = async (
  { location, findBlock }: Pick<IncrementalParts, 'location' | 'findBlock'>,
  { recentBlockhashes }: Pick<LoadedArchive, 'recentBlockhashes'>,
  { blockhash, slot }: StoreTip,
  signal: AbortSignal,
): Promise<string | undefined> => {
  if (recentBlockhashes.includes(blockhash)) return undefined
  const found =
    `the store ends with block ${blockhash} of slot ${slot}, which is not among the last ` +
    `${recentBlockhashes.length} blocks of ${printableLocation(location)}`
  if (findBlock === undefined)
    throw new Error(
      `${found}: it is of another fork or too old; with networks.accountsRpc the upstream RPC would tell`,
    )
  let known: string | undefined
  try {
    known = await findBlock(slot, signal)
  } catch (error) {
    if (!(error instanceof RpcReadFailure)) throw error
    throw new Error(`${found}, and whether it is of another fork is not known: ${error.message}`, {
      cause: error,
    })
  }
  if (known === blockhash) return blockhash
  throw new Error(
    `${found}: it is of another fork, the upstream RPC has ${known === undefined ? 'no finalized block' : `block ${known}`} in that slot`,
  )
}

/** Stops waiting for work that cannot be stopped itself. */
const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  let abort = (): void => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort))
}

const copy = async (
  store: LiveStore,
  { copyDir, options }: IncrementalParts,
  show: (progress: StepProgress) => void,
  signal: AbortSignal,
): Promise<void> => {
  mkdirSync(copyDir, { mode: 0o700 })
  const file = join(copyDir, DATA)
  const { usedBytes: total } = store.stats()
  const copying = store.copyTo(copyDir).catch((error: unknown) => {
    // Messages of the addon begin after the name of what failed.
    if (!(error instanceof NativeError)) throw error
    throw new Error(`the copy of the live store ${error.message}`, { cause: error })
  })
  await watched(unlessAborted(copying, signal), options.pollMs, () => {
    const done = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    show({ done, total, unit: 'bytes', detail: 'a copy of the store' })
  })
}

const load = async (
  parts: IncrementalParts,
  dir: string,
  spool: SpoolView,
  show: (progress: StepProgress) => void,
  signal: AbortSignal,
): Promise<LoadedBase> => {
  const { copyDir, live, openLoader, options, location } = parts
  const store = live()
  const tip = store?.tip()
  if (store === undefined || tip === undefined)
    throw new Error(
      `${printableLocation(location)} is an incremental snapshot, and there is no store to bring up to date: ` +
        'load the full snapshot that it builds on as well',
    )
  // Before the copy, and before hours of loading. One that is too old may be followed by a newer
  // one.
  const check = (name: SnapshotName): void => void demandContinues(location, name, tip.slot)
  demandNewer(location, await untilFresh(location, spool, options, signal, check), tip.slot)
  const loader = openLoader()
  const cancel = (): void => loader.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    signal.throwIfAborted()
    const archive = await readArchive(loader, location, 0, options, show, signal)
    demandFresh(location, archive, spool)
    // The location may have led to a newer archive since.
    const base = demandContinues(location, { base: archive.baseSlot }, tip.slot)
    const newest = store.tip() ?? tip
    demandNewer(location, archive, newest.slot)
    const known = await demandSameChain(parts, archive, newest, signal)
    await copy(store, parts, show, signal)
    const updating = loader.update(copyDir, dir, base, baseOf(archive), known)
    await watched(updating, options.pollMs, () => show(showRows(loader)))
    return { slot: archive.slot }
  } finally {
    signal.removeEventListener('abort', cancel)
    loader.close()
  }
}

/** Brings a copy of the live store up to date with an incremental snapshot. */
export const loadIncremental = (parts: IncrementalParts): LoadStore => ({
  startSlot: signal => startSlotOf(parts.location, parts.options, signal),
  load: (dir, spool, show, signal) => load(parts, dir, spool, show, signal),
})
