import type { DataSlice, Encoding, Filter } from './native.js'

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
  /** Changes were missed that the store no longer holds: every subscriber must be told. */
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
 * 2^32 − 1, and each is in use once. Subscriptions that are added or removed count from the next
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
