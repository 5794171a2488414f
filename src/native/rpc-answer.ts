import * as addon from '#native'
import { callNative } from './errors.js'

/**
 * Rows to extract: rows with their addresses, one row for each requested key, or data lengths only.
 */
export type Wanted =
  | { readonly kind: 'listed'; readonly slot?: number }
  | { readonly kind: 'positional'; readonly keys: Uint8Array }
  | { readonly kind: 'sizes' }

/** Properties of an answer besides its rows. */
export type RpcAnswerEnd = {
  /** Slot of its context, if present. */
  readonly slot: number | undefined
  readonly rows: number
  readonly paginationKey: string | undefined
  /** The upstream's error. */
  readonly error: { readonly code: number; readonly message: string } | undefined
  /** Data lengths with the number of accounts of each; empty if there are too many lengths. */
  readonly sizes: readonly { readonly bytes: number; readonly count: number }[]
  /** Of positional rows: mints of the token accounts among them, 32 bytes each. */
  readonly mints: Uint8Array
  /** Of positional rows: the mints among them with their token programs. */
  readonly programs: readonly { readonly mint: Uint8Array; readonly program: Uint8Array }[]
}

/** Streaming parser of an upstream RPC's answer. Its memory is bounded by the largest account. */
export type RpcAnswer = {
  /** Parses the next bytes of the body; returns the accounts completed by them, packed. */
  feed(chunk: Uint8Array): Uint8Array
  /** Ends the answer. Throws NativeError if it is incomplete or invalid. */
  end(): RpcAnswerEnd
}

/** Creates the parser of one answer. */
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

/** One packed row: its slot and its address. Without lamports there is no such account. */
export type PackedRow = {
  readonly slot: number
  readonly lamports: bigint
  readonly pubkey: Uint8Array
  readonly owner: Uint8Array
  readonly data: Uint8Array
}

/** Rows of a packed buffer, as views into it. */
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
