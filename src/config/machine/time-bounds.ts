import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { bufferBytesOf } from '../../ingest/feed/geyser.js'
import { freeBytes } from '../../storage/disk-space.js'
import type { Config } from '../schema.js'

/** What this machine has for a service. */
export type Machine = {
  readonly memoryBytes: number
  /** Of the disk with the data directory. */
  readonly freeBytes: number
}

/** How much of a feed something holds. */
export type TimeBound = {
  readonly what: string
  readonly seconds: number
  /** At the end of that time; on disk they are compressed. */
  readonly bytes: number
  /** What ends it first: an option, or `free disk space`. */
  readonly boundBy: string
}

/** What is left of the bytes of a feed in segments and in a spool: account data to a fifth. */
const COMPRESSED_PART = 1 / 4

/** Free bytes of the disk that has this folder, or will have it. */
export const freeBytesOf = (dir: string): number =>
  existsSync(dir) ? freeBytes(dir) : freeBytesOf(dirname(dir))

/** The bounds of what is kept of a feed with so many bytes a second, by their time. */
export const timeBoundsOf = (
  { bootstrap, store }: Pick<Config, 'bootstrap' | 'store'>,
  feed: { readonly bufferBytesMax: number },
  bytesPerSecond: number,
  { freeBytes, memoryBytes }: Machine,
): readonly TimeBound[] => {
  const storedPerSecond = bytesPerSecond * COMPRESSED_PART
  const onDisk = (
    what: string,
    free: number,
    bounds: readonly (readonly [boundBy: string, seconds: number])[],
  ): TimeBound => {
    const all = [...bounds, ['free disk space', Math.max(0, free) / storedPerSecond] as const]
    const [boundBy, seconds] = all.reduce((least, next) => (next[1] < least[1] ? next : least))
    return { what, seconds, bytes: seconds * storedPerSecond, boundBy }
  }
  const bufferBytes = bufferBytesOf(feed, memoryBytes)
  const kept = onDisk(
    'changes of the last slots, for cursors and from_slot',
    freeBytes - 2 * store.diskReserveBytes,
    [
      ['store.feedMs', store.feedMs / 1_000],
      ['store.feedBytesMax', store.feedBytesMax / storedPerSecond],
    ],
  )
  return [
    {
      what: 'incomplete blocks in memory, and as much for the writer',
      seconds: bufferBytes / bytesPerSecond,
      bytes: bufferBytes,
      boundBy: 'feed.bufferBytesMax',
    },
    kept,
    onDisk(
      'blocks that wait while a store is loaded',
      freeBytes - store.diskReserveBytes - kept.bytes,
      [
        ['bootstrap.spoolMs', bootstrap.spoolMs / 1_000],
        ['bootstrap.spoolBytesMax', bootstrap.spoolBytesMax / storedPerSecond],
      ],
    ),
  ]
}
