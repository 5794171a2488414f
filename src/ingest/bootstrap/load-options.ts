import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of a load. */
export const options = {
  sortMemoryBytes: {
    default: 1024 ** 3,
    unit: 'bytes',
    why: 'Bytes that are sorted in memory at a time; more memory means fewer and longer runs on the disk. A load takes about this much.',
  },
} satisfies Declaration

/** All bounds; those that are no option are settable in code only. */
export const defaults = {
  ...defaultsOf(options),
  /** Bytes of rows that go to the new store at a time. */
  transactionBytes: 32 * 1024 ** 2,
}

/** Between two checkpoints of an archive: each waits until what is sorted is on the disk. */
export const CHECKPOINT_MS = 5 * 60_000
