import * as addon from '#native'
import { callNative } from './errors.js'

/**
 * What the answer is read for: rows that name their address, one row for each key, or lengths of
 * data alone.
 */
export type Wanted =
  | { readonly kind: 'listed'; readonly slot?: number }
  | { readonly kind: 'positional'; readonly keys: Uint8Array }
  | { readonly kind: 'sizes' }

/** What an answer was, beside its rows. */
export type RpcAnswerEnd = {
  /** The slot of its context, where it has one. */
  readonly slot: number | undefined
  readonly rows: number
  readonly paginationKey: string | undefined
  /** The upstream's own error. */
  readonly error: { readonly code: number; readonly message: string } | undefined
  /** How long the data of how many accounts is; empty where there are too many lengths. */
  readonly sizes: readonly { readonly bytes: number; readonly count: number }[]
  /** Of positional rows: the mints of the token accounts among them, 32 bytes each. */
  readonly mints: Uint8Array
  /** Of positional rows: the mints among them with their token programs. */
  readonly programs: readonly { readonly mint: Uint8Array; readonly program: Uint8Array }[]
}

/**
 * An answer of an upstream RPC on its way. It takes the memory of its largest account, however long
 * it is.
 */
export type RpcAnswer = {
  /** Takes the next bytes of the body; returns the accounts that are whole by now, packed. */
  feed(chunk: Uint8Array): Uint8Array
  /** Ends it. Throws NativeError where the answer is not whole, or no answer. */
  end(): RpcAnswerEnd
}

/** Begins to read one answer for its accounts. */
export const createRpcAnswer = (wanted: Wanted): RpcAnswer => {
  const native = callNative(
    () =>
      new addon.RpcAnswer(
        wanted.kind,
        wanted.kind === 'positional' ? wanted.keys : undefined,
        wanted.kind === 'listed' ? wanted.slot : undefined,
      ),
  )
  return {
    feed: chunk => callNative(() => native.feed(chunk)),
    end: () => {
      const { slot, paginationKey, error, ...end } = callNative(() => native.end())
      return {
        ...end,
        slot: slot ?? undefined,
        paginationKey: paginationKey ?? undefined,
        error: error ?? undefined,
      }
    },
  }
}

const ROW_HEAD_BYTES = 93
const DATA_BYTES_AT = 89

/**
 * One row of a packed run: the slot it is of, and its address. No lamports: there is no such
 * account.
 */
export type PackedRow = {
  readonly slot: number
  readonly lamports: bigint
  readonly pubkey: Uint8Array
  readonly owner: Uint8Array
  readonly data: Uint8Array
}

/** The rows of a packed run, as views into it. */
export function* unpackRows(packed: Uint8Array): Generator<PackedRow> {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  for (let at = 0; at < packed.length;) {
    const dataAt = at + ROW_HEAD_BYTES
    const end = dataAt + view.getUint32(at + DATA_BYTES_AT, true)
    yield {
      slot: Number(view.getBigUint64(at, true)),
      lamports: view.getBigUint64(at + 72, true),
      pubkey: packed.subarray(at + 8, at + 40),
      owner: packed.subarray(at + 40, at + 72),
      data: packed.subarray(dataAt, end),
    }
    at = end
  }
}
