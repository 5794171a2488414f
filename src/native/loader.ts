import * as addon from '#native'
import { callNative, toFailure } from './errors.js'
import type { StoreOptions } from './store.js'

export type LoaderOptions = addon.LoaderOptions
export type ArchiveOptions = Readonly<addon.ArchiveOptions>
export type LoaderBase = addon.LoaderBase
export type LoaderCounts = Readonly<addon.LoaderCounts>
export type LoaderProgress = Readonly<addon.LoaderProgress>
export type LoadedStore = Readonly<addon.LoadedData>
export type LoadedArchive = Readonly<addon.LoadedArchive>

/** A version of an account, as of a slot. */
export type AccountVersion = {
  readonly slot: number
  readonly pubkey: Uint8Array
  readonly owner: Uint8Array
  /** 0 means a closed account. */
  readonly lamports: bigint
  readonly rentEpoch: bigint
  readonly executable: boolean
  readonly data: Uint8Array
}

/**
 * Sorts versions of accounts on disk and makes a store of the newest ones. Each promise settles
 * when its work is done; await one before the next call. After a failure the loader can only be
 * closed.
 */
export type StoreLoader = {
  /**
   * Adds every account of a snapshot archive. Of equal slots the higher `order` (0–255) wins, then
   * the later version. For a URL, `options.caCertificatePem` is a private certificate authority
   * that replaces those of the system.
   */
  loadArchive(location: string, order: number, options: ArchiveOptions): Promise<LoadedArchive>
  /**
   * The archive of this order if an earlier process has read it to its end: `loadArchive` returns
   * it without opening a location.
   */
  endedArchive(order: number): LoadedArchive | undefined
  /** Adds versions packed by `packAccounts`. */
  push(order: number, packed: Uint8Array): Promise<void>
  /** Totals as of the last completed call. */
  counts(): LoaderCounts
  /** Progress of the running call. */
  progress(): LoaderProgress
  /** Makes the store atomically; `dir` must be empty, on the disk of the loader's folder. */
  finish(dir: string, base: LoaderBase): Promise<LoadedStore>
  /**
   * Makes the store from an unopened copy and the added changes, which must be all changes after
   * `fromSlot`, as in an incremental archive. The copy must not be older than `fromSlot`; after a
   * failure the copy is unusable. It must end with a block that the archive names, or with
   * `knownBlockhash`, of which the caller knows that the chain has it.
   */
  update(
    copyDir: string,
    dir: string,
    fromSlot: number,
    base: LoaderBase,
    knownBlockhash: string | undefined,
  ): Promise<LoadedStore>
  /** Counts what `finish` would write, `fileBytes` as an upper bound, and writes nothing. */
  finishDry(): Promise<LoadedStore>
  /** Ends the running call and all later ones with NativeError `cancelled`. */
  cancel(): void
  close(): void
}

const HEAD_BYTES = 93

/** Packs versions of accounts for a loader. */
export const packAccounts = (versions: readonly AccountVersion[]): Uint8Array => {
  const bytes = versions.reduce((sum, { data }) => sum + HEAD_BYTES + data.length, 0)
  const packed = Buffer.alloc(bytes)
  let at = 0
  for (const { slot, pubkey, owner, lamports, rentEpoch, executable, data } of versions) {
    packed.writeBigUInt64LE(BigInt(slot), at)
    packed.set(pubkey, at + 8)
    packed.set(owner, at + 40)
    packed.writeBigUInt64LE(lamports, at + 72)
    packed.writeBigUInt64LE(rentEpoch, at + 80)
    packed.writeUInt8(executable ? 1 : 0, at + 88)
    packed.writeUInt32LE(data.length, at + 89)
    packed.set(data, at + HEAD_BYTES)
    at += HEAD_BYTES + data.length
  }
  return packed
}

const settled = async (task: Promise<addon.LoaderReply>): Promise<addon.LoaderReply> => {
  const reply = await task
  if (reply.failure !== undefined) throw toFailure(reply.failure)
  return reply
}

/** Returns a reply's value, which its call requires. */
const required = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('a loader answered another call')
  return value
}

/**
 * Begins a load in its own folder, which is emptied, or continues the one that it has a checkpoint
 * of where `options.checkpointMs` is given. The store gets these options.
 */
export const openStoreLoader = (
  workDir: string,
  store: StoreOptions,
  options: LoaderOptions,
): StoreLoader => {
  const native = callNative(() => new addon.StoreLoader(workDir, store, options))
  return {
    loadArchive: async (location, order, bounds) =>
      required(
        (await settled(callNative(() => native.loadArchive(location, order, bounds)))).archive,
      ),
    endedArchive: order => callNative(() => native.endedArchive(order)) ?? undefined,
    push: async (order, packed) => {
      await settled(callNative(() => native.push(order, packed)))
    },
    counts: () => callNative(() => native.counts()),
    progress: () => callNative(() => native.progress()),
    finish: async (dir, base) =>
      required((await settled(callNative(() => native.finish(dir, base)))).loaded),
    update: async (copyDir, dir, fromSlot, base, known) =>
      required(
        (await settled(callNative(() => native.update(copyDir, dir, fromSlot, base, known))))
          .loaded,
      ),
    finishDry: async () => required((await settled(callNative(() => native.finishDry()))).loaded),
    cancel: () => callNative(() => native.cancel()),
    close: () => callNative(() => native.close()),
  }
}
