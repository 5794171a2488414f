import type * as addon from '#native'
import { ENCODINGS, type DataSlice, type Encoding } from './encodings.js'
import { callNative, toFailure } from './errors.js'
import type { Filter } from './reads.js'

/** How a subscriber sees accounts. */
export type FanoutView = { readonly encoding: Encoding; readonly slice?: DataSlice | undefined }

/** Bounds of one fan-out. */
export type FanoutOptions = {
  /** Subscriptions that it may hold; one more throws. */
  readonly subscriptionsMax: number
  /** Bytes of frames after which a pass ends; one frame may be larger. Default 4 MiB. */
  readonly chunkBytesMax: number
}

/** What one pass made. */
export type Pass = {
  /** The newest slot whose frames have all been given; undefined before the first. */
  readonly slot: number | undefined
  /**
   * Changes were missed, because the store no longer holds them or the pass before failed: every
   * subscriber must be told. What comes next begins at the tip; subscriptions stay.
   */
  readonly isLost: boolean
  /** More is waiting: call again at once. */
  readonly hasMore: boolean
  /** Whole JSON-RPC notifications, one after the other. */
  readonly frames: Uint8Array
  /**
   * For each frame: subscription id, length in bytes, flags. Flag 1: the last frame of this
   * subscription, which is gone now.
   */
  readonly index: Uint32Array
}

/** A fan-out in numbers. */
export type FanoutStats = {
  readonly subscriptions: number
  /** Changes of slots looked at since it was opened. */
  readonly changes: number
  /** Comparisons of a change with a key or a filter, over the same time. */
  readonly comparisons: number
  readonly frames: number
  readonly bytes: number
}

/**
 * Turns what the store gains into the frames of subscriptions. Ids are the caller's own, from 1 to
 * 2^32 − 1, and none is used twice. Subscriptions that are added or removed count from the next
 * pass on, and what has been sent before that pass is never sent again.
 */
export type Fanout = {
  addAccount(id: number, pubkey: Uint8Array, view: FanoutView): void
  addProgram(id: number, program: Uint8Array, filters: readonly Filter[], view: FanoutView): void
  /** All transactions but votes, all, or those that mention a key. */
  addLogs(id: number, which: 'all' | 'allWithVotes' | Uint8Array): void
  /** Ends by itself, with the frame of the outcome. `received`: a frame before that, too. */
  addSignature(
    id: number,
    signature: Uint8Array,
    commitment: 'confirmed' | 'finalized',
    received: boolean,
  ): void
  addSlot(id: number): void
  addRoot(id: number): void
  /** An unknown id is no fault. */
  remove(id: number): void
  /**
   * Looks at what the store has gained since the last pass, on a thread of its own; one at a time.
   * The first one begins at the tip: nothing older is ever sent. Rejects with a NativeError.
   */
  pass(): Promise<Pass>
  stats(): FanoutStats
  /** Lets the store go as soon as the pass that runs has ended. */
  close(): void
}

const sliceOf = (slice: DataSlice | undefined): [offset: number, length: number] => [
  slice?.offset ?? -1,
  slice?.length ?? 0,
]

/** The native fan-out with the shapes of this side. */
export const toFanout = (native: addon.Fanout): Fanout => ({
  addAccount: (id, pubkey, { encoding, slice }) =>
    callNative(() => native.addAccount(id, pubkey, ENCODINGS[encoding], ...sliceOf(slice))),
  addProgram: (id, program, filters, { encoding, slice }) =>
    callNative(() =>
      native.addProgram(id, program, [...filters], ENCODINGS[encoding], ...sliceOf(slice)),
    ),
  addLogs: (id, which) =>
    callNative(() =>
      typeof which === 'string'
        ? native.addLogs(id, which === 'allWithVotes')
        : native.addMentions(id, which),
    ),
  addSignature: (id, signature, commitment, received) =>
    callNative(() => native.addSignature(id, signature, commitment === 'finalized', received)),
  addSlot: id => callNative(() => native.addSlot(id)),
  addRoot: id => callNative(() => native.addRoot(id)),
  remove: id => callNative(() => native.remove(id)),
  pass: async () => {
    const { error, detail, ...pass } = await callNative(() => native.pass())
    if (error !== undefined) throw toFailure(error, detail ?? '')
    return { ...pass, slot: pass.slot }
  },
  stats: () => callNative(() => native.stats()),
  close: () => native.close(),
})
