import { type Declaration, defaultsOf } from '../shared/options/declaration.js'

/**
 * Bounds of an accounts store. Every process that opens it must use the same map and the same read
 * slots.
 */
export type Options = Readonly<typeof defaults>

export const options = {
  mapBytes: {
    default: 1024 ** 4,
    unit: 'bytes',
    min: 1024 ** 2,
    max: 2 ** 46,
    why: 'Address space of the map, fixed and sparse, so that no process has to remap it.',
  },
  readersMax: {
    default: 512,
    unit: 'count',
    min: 16,
    max: 32_768,
    why: 'LMDB reader slots over all processes: one for each thread that ever reads.',
  },
  diskReserveBytes: {
    default: 1024 ** 3,
    unit: 'bytes',
    why: 'The indexer stops when the disk has less free space than this, so that an operator can act. Below twice as much, the oldest changes of `feedMs` go first.',
  },
  feedMs: {
    default: 600_000,
    unit: 'milliseconds',
    why: "How long blocks and their changes are kept, by the chain's slot time, for cursors, `from_slot` and edges that are behind: a client that was away for a deployment or a move to another location continues where it was. Longer takes more disk only.",
  },
  feedBytesMax: {
    default: 32 * 1024 ** 3,
    unit: 'bytes',
    min: 0,
    why: 'Bytes on disk of these changes, compressed to about a quarter: oldest go first; 0 keeps none. The default holds 10 minutes of all of mainnet at 225 MB/s.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /**
   * A process with a read open for longer than this that does not answer is ended: pages that its
   * read sees cannot be reused, so the store grows. One that answers has `rpc.readTimeoutMs` more.
   */
  readerSecondsMax: 10,
  /**
   * Newest slots whose transaction outcomes are kept. It is a count, because a transaction can land
   * for 150 blocks, whatever time they take; slots may be skipped.
   */
  signatureSlotsMax: 512,
}
