import * as addon from '#native'
import { ENCODINGS, type DataSlice, type Encoding } from './account-view.js'
import { callNative, toFailure } from './errors.js'
import type { Filter } from './reads.js'

/** Encoding and slice of accounts in a subscription. */
export type FanoutView = { readonly encoding: Encoding; readonly slice?: DataSlice | undefined }

/** How much of a transaction is shown, by the addon's numbers. */
export const TRANSACTION_DETAILS = { full: 0, accounts: 1, signatures: 2, none: 3 } as const
/** How it is written, by the addon's numbers. */
export const TRANSACTION_ENCODINGS = { base64: 0, base58: 1, json: 2, jsonParsed: 3 } as const

/** How transactions are shown in a subscription. */
export type TransactionView = {
  readonly details: keyof typeof TRANSACTION_DETAILS
  readonly encoding: keyof typeof TRANSACTION_ENCODINGS
  readonly showsRewards: boolean
  /** Undefined: of legacy transactions only. */
  readonly versionMax: number | undefined
  /** In the shape of richat, in place of that of Helius. */
  readonly isNamed: boolean
}

/** Matches all of it. The lists have 32 bytes for each account; an empty one matches any. */
export type TransactionFilter = {
  readonly isVote: boolean | undefined
  readonly isFailed: boolean | undefined
  readonly signature: Uint8Array | undefined
  /** At least one. */
  readonly include: Uint8Array
  /** None. */
  readonly exclude: Uint8Array
  /** All. */
  readonly required: Uint8Array
}

/** Bounds of one fan-out. */
export type FanoutOptions = {
  /** Maximum subscriptions; a further one throws. */
  readonly subscriptionsMax: number
  /** Bytes of frames after which a pass ends; a single frame may be larger. Default 4 MiB. */
  readonly chunkBytesMax: number
}

/** Has the frames of a subscription carry cursors. */
export type Cursors = {
  /** Begins after this cursor, which `isCursor` has accepted. */
  readonly from?: string
  /** Whose it is: accesses take turns with what is replayed for them. */
  readonly access: string
  /** The socket, as in `hold`. */
  readonly socket: number
}

/** Result of one pass. */
export type Pass = {
  /** Newest slot whose frames have all been returned; undefined before the first. */
  readonly slot: number | undefined
  /**
   * Changes were lost, because the store no longer has them or the previous pass failed: every
   * subscriber must be notified. The next pass begins at the tip; subscriptions remain.
   */
  readonly isLost: boolean
  /** The last slot found whose changes the store can no longer read. */
  readonly damagedSlot: number | undefined
  /** More frames are pending: call again at once. */
  readonly hasMore: boolean
  /** Complete JSON-RPC notifications, concatenated. */
  readonly frames: Uint8Array
  /**
   * For each frame: subscription id, length in bytes, flags. Flag 1: the last frame of this
   * subscription, which has been removed. Flag 2: of a replay, which `hold` pauses.
   */
  readonly index: Uint32Array
}

/** Counters of a fan-out. */
export type FanoutStats = {
  readonly subscriptions: number
  /** Changes of slots processed since it was opened. */
  readonly changes: number
  /** Comparisons of a change with a key or a filter since it was opened. */
  readonly comparisons: number
  readonly frames: number
  readonly bytes: number
}

/**
 * Converts changes of the store to frames of subscriptions. The caller assigns ids, from 1 to 2^32
 * − 1, each used once. Added and removed subscriptions take effect with the next pass; earlier
 * frames are never sent again.
 */
export type Fanout = {
  addAccount(id: number, pubkey: Uint8Array, view: FanoutView, cursors?: Cursors): void
  addProgram(
    id: number,
    program: Uint8Array,
    filters: readonly Filter[],
    view: FanoutView,
    cursors?: Cursors,
  ): void
  /** All transactions but votes, all, or those that mention a key. */
  addLogs(id: number, which: 'all' | 'allWithVotes' | Uint8Array, cursors?: Cursors): void
  addTransactions(
    id: number,
    filter: TransactionFilter,
    view: TransactionView,
    cursors?: Cursors,
  ): void
  /** Removes itself with the frame of the outcome. `received`: also sends a frame before that. */
  addSignature(
    id: number,
    signature: Uint8Array,
    commitment: 'confirmed' | 'finalized',
    received: boolean,
  ): void
  addSlot(id: number, cursors?: Cursors): void
  addRoot(id: number, cursors?: Cursors): void
  /** An unknown id is ignored. */
  remove(id: number): void
  /** Pauses what is replayed for a socket, or lets it go on. */
  hold(socket: number, isHeld: boolean): void
  /**
   * Processes changes since the last pass on a separate thread; passes must not overlap. The first
   * one begins at the tip: only resumed subscriptions get older frames. Rejects with a
   * NativeError.
   */
  pass(): Promise<Pass>
  stats(): FanoutStats
  /** Releases the store when the running pass has ended. */
  close(): void
}

const sliceOf = (slice: DataSlice | undefined): [offset: number, length: number] => [
  slice?.offset ?? -1,
  slice?.length ?? 0,
]

/** Longer text is not copied to be read. */
const CURSOR_CHARS_MAX = 44

/** Whether a text is a cursor of roots, or of the other subscriptions. */
export const isCursor = (text: string, isOfRoots: boolean): boolean =>
  text.length <= CURSOR_CHARS_MAX && callNative(() => addon.isCursor(text, isOfRoots))

/** Wraps the native fan-out in the types of this module. */
export const toFanout = (native: addon.Fanout): Fanout => ({
  addAccount: (id, pubkey, { encoding, slice }, cursors) =>
    callNative(() =>
      native.addAccount(id, pubkey, ENCODINGS[encoding], ...sliceOf(slice), cursors),
    ),
  addProgram: (id, program, filters, { encoding, slice }, cursors) =>
    callNative(() =>
      native.addProgram(id, program, [...filters], ENCODINGS[encoding], ...sliceOf(slice), cursors),
    ),
  addLogs: (id, which, cursors) =>
    callNative(() =>
      typeof which === 'string'
        ? native.addLogs(id, which === 'allWithVotes', cursors)
        : native.addMentions(id, which, cursors),
    ),
  addTransactions: (id, { isVote, isFailed, signature, ...lists }, view, cursors) => {
    const filter = {
      ...lists,
      ...(isVote !== undefined && { isVote }),
      ...(isFailed !== undefined && { isFailed }),
      ...(signature !== undefined && { signature }),
    }
    const { details, encoding, versionMax, ...shape } = view
    const shown = {
      ...shape,
      details: TRANSACTION_DETAILS[details],
      encoding: TRANSACTION_ENCODINGS[encoding],
      ...(versionMax !== undefined && { versionMax }),
    }
    callNative(() => native.addTransactions(id, filter, shown, cursors))
  },
  addSignature: (id, signature, commitment, received) =>
    callNative(() => native.addSignature(id, signature, commitment === 'finalized', received)),
  addSlot: (id, cursors) => callNative(() => native.addSlot(id, cursors)),
  addRoot: (id, cursors) => callNative(() => native.addRoot(id, cursors)),
  remove: id => callNative(() => native.remove(id)),
  hold: (socket, isHeld) => callNative(() => native.hold(socket, isHeld)),
  pass: async () => {
    const { failure, ...pass } = await callNative(() => native.pass())
    if (failure !== undefined) throw toFailure(failure)
    return { ...pass, slot: pass.slot, damagedSlot: pass.damagedSlot }
  },
  stats: () => callNative(() => native.stats()),
  close: () => native.close(),
})
