import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { printableLocation, type StepProgress } from '../../shared/indexer-status.js'
import { decodePubkey } from '../../native/encoding.js'
import type { LoadedArchive, LoaderBase, StoreLoader } from '../../native/loader.js'
import type { LoadedBase, LoadStore, SpoolView } from './bootstrap.js'
import type { Options } from './options.js'
import { isUrl, resolveSnapshot, startSlotOf, type SnapshotName } from './snapshot-location.js'
import { askHead, type SnapshotServerOptions } from './snapshot-server.js'

/** Bounds of a bootstrap, and how the servers of its archives are asked. */
export type SnapshotOptions = Options & SnapshotServerOptions

/** Dependencies of a load from archives. */
export type SnapshotParts = {
  /** A full archive, and at most one incremental archive that builds on it. */
  readonly locations: readonly string[]
  readonly openLoader: () => StoreLoader
  readonly options: SnapshotOptions
}

/** Size of the archive at a location; 0 where it is unknown. */
const sizeOf = async (
  location: string,
  options: SnapshotServerOptions,
  stop: AbortSignal | undefined,
): Promise<number> => {
  if (!isUrl(location)) return statSync(location).size
  try {
    const limit = AbortSignal.timeout(options.resolveMs)
    const signal = stop === undefined ? limit : AbortSignal.any([limit, stop])
    let at = location
    for (let hops = 0; hops <= options.archive.redirectsMax; hops += 1) {
      const { bytes, location } = await askHead(at, options, signal)
      if (location === undefined) return bytes
      at = new URL(location, at).href
    }
  } catch {
    // Only the progress needs it. A location that cannot be read fails when it is read.
  }
  return 0
}

const showArchive = (loader: StoreLoader, total: number): StepProgress => {
  const { bytesRead, entries } = loader.progress()
  const detail = `${entries.toLocaleString('en')} accounts`
  return { done: bytesRead, total, unit: 'bytes', detail }
}

/** Progress of writing the store. */
export const showRows = (loader: StoreLoader): StepProgress => {
  const { rowsMerged: done, rowsTotal: total } = loader.progress()
  return { done, total, unit: 'rows', detail: `${loader.counts().kept} accounts` }
}

/** Calls `show` at an interval until a call has ended. */
export const watched = async <T>(
  call: Promise<T>,
  everyMs: number,
  show: () => void,
): Promise<T> => {
  const timer = setInterval(show, everyMs)
  return call.finally(() => {
    clearInterval(timer)
    show()
  })
}

/** Whether the spooled feed begins too late to continue a store of this slot. */
const isTooOld = (spool: SpoolView, slot: number): boolean =>
  (spool.stats().first?.parentSlot ?? 0) > slot

const tooOld = (location: string, slot: number, spool: SpoolView): Error => {
  const { parentSlot = 0, slot: first = 0 } = spool.stats().first ?? {}
  return new Error(
    `${printableLocation(location)} ends at slot ${slot}, but the feed cannot be had from before slot ${first}: ` +
      `load a snapshot of slot ${parentSlot} or a later one, or read a feed that replays more slots`,
  )
}

/**
 * Waits until the location names a snapshot that the spool continues. What cannot change is refused
 * at once, as is what `check` throws for.
 */
export const untilFresh = async (
  location: string,
  spool: SpoolView,
  options: SnapshotOptions,
  signal: AbortSignal,
  check: (name: SnapshotName) => void = () => {},
): Promise<SnapshotName> => {
  const { snapshotPollMs, snapshotWaitMs } = options
  const endMs = performance.now() + snapshotWaitMs
  for (;;) {
    const name = await resolveSnapshot(location, options, signal)
    check(name)
    if (!isTooOld(spool, name.slot)) return name
    if (!isUrl(location) || performance.now() + snapshotPollMs > endMs)
      throw tooOld(location, name.slot, spool)
    await sleep(snapshotPollMs, undefined, { signal })
  }
}

/** Has a loader read an archive, after those that it has read. */
export const readArchive = async (
  loader: StoreLoader,
  location: string,
  order: number,
  options: SnapshotOptions,
  show: (progress: StepProgress) => void,
  signal?: AbortSignal,
): Promise<LoadedArchive> => {
  const total = loader.progress().bytesRead + (await sizeOf(location, options, signal))
  signal?.throwIfAborted()
  const { archive, caCertificatePem } = options
  const ca = caCertificatePem === undefined ? {} : { caCertificatePem }
  const reading = loader.loadArchive(location, order, { ...archive, ...ca })
  return watched(reading, options.pollMs, () => show(showArchive(loader, total)))
}

/** The base block of a store of an archive: a snapshot is of a finalized slot. */
export const baseOf = ({
  blockHeight,
  blockhash,
  parentSlot,
  slot,
}: LoadedArchive): LoaderBase => ({
  slot,
  parentSlot,
  blockHeight,
  blockhash: decodePubkey(blockhash),
  root: slot,
})

/** Throws if the spool does not continue an archive, whatever its name promised. */
export const demandFresh = (location: string, { slot }: LoadedArchive, spool: SpoolView): void => {
  if (isTooOld(spool, slot)) throw tooOld(location, slot, spool)
}

const load = async (
  { openLoader, options, locations }: SnapshotParts,
  dir: string,
  spool: SpoolView,
  show: (progress: StepProgress) => void,
  signal: AbortSignal,
): Promise<LoadedBase> => {
  const last = locations.at(-1) ?? ''
  const loader = openLoader()
  const cancel = (): void => loader.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    // Before hours of loading that would be useless.
    if ((locations.length === 1 || !isUrl(last)) && loader.endedArchive(0) === undefined)
      await untilFresh(last, spool, options, signal)
    let newest: LoadedArchive | undefined
    for (const [order, location] of locations.entries()) {
      // Of a process that was killed; the servers may not have it any more.
      const ended = loader.endedArchive(order)
      if (order > 0 && ended === undefined) await untilFresh(location, spool, options, signal)
      signal.throwIfAborted()
      const archive = ended ?? (await readArchive(loader, location, order, options, show, signal))
      checkOrder(location, archive, newest)
      newest = archive
    }
    if (newest === undefined) throw new Error('no snapshot is named')
    demandFresh(last, newest, spool)
    const finishing = loader.finish(dir, baseOf(newest))
    await watched(finishing, options.pollMs, () => show(showRows(loader)))
    return { slot: newest.slot }
  } finally {
    signal.removeEventListener('abort', cancel)
    loader.close()
  }
}

const checkOrder = (
  location: string,
  { baseSlot, slot }: LoadedArchive,
  before: LoadedArchive | undefined,
): void => {
  if (before === undefined && baseSlot !== undefined)
    throw new Error(
      `${printableLocation(location)} builds on slot ${baseSlot}: name the full snapshot of that slot before it`,
    )
  if (before !== undefined && baseSlot !== before.slot)
    throw new Error(
      `${printableLocation(location)} builds on slot ${baseSlot ?? slot}, but the full snapshot is of slot ${before.slot}`,
    )
}

/** Loads a full snapshot, and an incremental one over it. */
export const loadSnapshot = (parts: SnapshotParts): LoadStore => ({
  startSlot: signal => startSlotOf(parts.locations.at(-1) ?? '', parts.options, signal),
  load: (dir, spool, show, signal) => load(parts, dir, spool, show, signal),
})

/** Counts what a store of the snapshots would hold, without writing one. */
export const countSnapshot = async (
  { openLoader, options, locations }: SnapshotParts,
  show: (progress: StepProgress) => void,
): Promise<{
  readonly archive: LoadedArchive
  readonly accounts: number
  /** Of the store, at most. */
  readonly bytes: number
  /** Bytes of the sorted files on disk while it is made. */
  readonly runBytes: number
}> => {
  const loader = openLoader()
  try {
    let newest: LoadedArchive | undefined
    for (const [order, location] of locations.entries()) {
      const archive = await readArchive(loader, location, order, options, show)
      checkOrder(location, archive, newest)
      newest = archive
    }
    if (newest === undefined) throw new Error('no snapshot is named')
    const { accounts, fileBytes, runBytes } = await loader.finishDry()
    return { archive: newest, accounts, bytes: fileBytes, runBytes }
  } finally {
    loader.close()
  }
}
