import type { AccountUpdate, Block, TransactionRecord } from '../chain/block.js'
import { ADDRESSES, toMapKey } from '../solana/addresses.js'
import {
  encodeAccount,
  encodeBlockFooter,
  encodeBlockMeta,
  encodeEntries,
  encodeTransaction,
  encodeTransactionStatus,
  insertBank,
  type SlotStatus,
} from './messages.js'
import type { Hidden } from './slot-faults.js'

/** The bank of an update; absent if it belongs to none. */
type OfBank = { readonly bank?: number }

/** An account update, with the fields that filters need. Addresses are map keys. */
export type AccountEntry = OfBank & {
  readonly kind: 'account'
  readonly pubkey: string
  readonly owner: string
  readonly lamports: bigint
  readonly hasSignature: boolean
  /** Offset of the account's data in `body`. */
  readonly dataAt: number
  readonly dataByteCount: number
  readonly body: Buffer
  /** Size of the body, and of what is kept of it, where that is compressed. */
  readonly packed?: { readonly bodyByteCount: number; readonly byteCount: number }
}

export type TransactionEntry = OfBank & {
  readonly kind: 'transaction' | 'transactionStatus'
  readonly signature: string
  readonly isFailed: boolean
  /** All keys, including loaded ones, concatenated. */
  readonly keys: string
  readonly body: Buffer
}

/** A block, encoded only for subscribers that ask for it. */
export type BlockEntry = OfBank & {
  readonly kind: 'block'
  readonly block: Block
  readonly accounts: readonly { readonly body: Buffer }[]
  /** Whether the block lacks the last account that it announces. */
  readonly isShortened: boolean
  readonly atMs: number
}

export type SlotEntry = OfBank & {
  readonly kind: 'slot'
  readonly status: SlotStatus
  readonly body: Buffer
}

/** A footer comes twice: for subscribers that ask for certificates, and for others. */
export type FooterEntry = OfBank & {
  readonly kind: 'blockFooter'
  readonly hasCertificates: boolean
  readonly body: Buffer
}

/** One update, encoded once; `body` lacks only the filter labels. */
export type FeedEntry =
  | AccountEntry
  | TransactionEntry
  | BlockEntry
  | SlotEntry
  | (OfBank & { readonly kind: 'blockMeta' | 'entry'; readonly body: Buffer })
  | FooterEntry

/** The updates of one commitment level from the start of one slot to the start of the next. */
export type Segment = {
  /** The slot of the data: at finalized it is older than the slot in which the data is sent. */
  readonly slot: number
  readonly entries: FeedEntry[]
  /** Bytes of the level before this segment, so that the lag of a reader is a subtraction. */
  readonly bytesBefore: number
  hidden: Hidden | undefined
}

/**
 * The updates of one commitment level. A position counts segments from the first one ever, so that
 * eviction does not change it.
 */
export type Level = {
  readonly segments: Segment[]
  firstPosition: number
  byteCount: number
}

export const createLevel = (): Level => ({ segments: [], firstPosition: 0, byteCount: 0 })

export const toAccountEntry = (update: AccountUpdate, nowMs: number): AccountEntry => ({
  kind: 'account',
  pubkey: toMapKey(update.pubkey),
  owner: toMapKey(update.owner),
  lamports: update.lamports,
  hasSignature: update.signature !== undefined,
  dataByteCount: update.data.length,
  ...encodeAccount(update, nowMs),
})

/** Bodies of SlotHistory: almost only zeros, 128 KiB in each block. */
const PACKED_OWNER = toMapKey(ADDRESSES.sysvar)
const PACKED_BYTES_MIN = 64 * 1024
const ZEROS = Buffer.alloc(1024)

/**
 * Leaves the zeros out of a body that the log keeps for each slot; it is read like others. Deflate
 * would make a state of 256 KiB for each of them and for each subscriber.
 */
export const pack = (entry: AccountEntry): AccountEntry => {
  const { body, ...rest } = entry
  if (body.length < PACKED_BYTES_MIN || entry.owner !== PACKED_OWNER) return entry
  const bodyByteCount = body.length
  const pieces: [at: number, bytes: Uint8Array][] = []
  let byteCount = 0
  for (let at = 0; at < body.length; at += ZEROS.length) {
    const piece = body.subarray(at, at + ZEROS.length)
    if (piece.equals(ZEROS.subarray(0, piece.length))) continue
    pieces.push([at, new Uint8Array(piece)])
    byteCount += piece.length
  }
  return {
    ...rest,
    packed: { bodyByteCount, byteCount },
    get body() {
      const bytes = Buffer.alloc(bodyByteCount)
      for (const [at, piece] of pieces) bytes.set(piece, at)
      return bytes
    },
  }
}

const packedOf = (entry: FeedEntry): AccountEntry['packed'] =>
  entry.kind === 'account' ? entry.packed : undefined

/** Bytes of the encoded update. */
export const bytesOf = (entry: FeedEntry): number =>
  entry.kind === 'block' ? 0 : (packedOf(entry)?.bodyByteCount ?? entry.body.length)

/** Bytes that the log keeps of an update. */
export const keptBytesOf = (entry: FeedEntry): number =>
  packedOf(entry)?.byteCount ?? bytesOf(entry)

/** The update with this bank. */
export const withBank = <E extends FeedEntry>(entry: E, bank: number): E => {
  if (entry.kind === 'block') return { ...entry, bank }
  const { body, movedBytes } = insertBank(entry.kind, entry.body, bank)
  const dataAt = entry.kind === 'account' ? { dataAt: entry.dataAt + movedBytes } : {}
  return { ...entry, ...dataAt, body, bank }
}

/** A transaction, and its status alone. */
export const toTransactionEntries = (
  record: TransactionRecord,
  nowMs: number,
): TransactionEntry[] => {
  const { transaction, loadedWritable, loadedReadonly } = record
  const fields = {
    signature: toMapKey(record.signature),
    isFailed: record.error !== undefined,
    keys: [...transaction.keys, ...loadedWritable, ...loadedReadonly].map(toMapKey).join(''),
  }
  return [
    { kind: 'transaction', ...fields, body: encodeTransaction(record, nowMs) },
    { kind: 'transactionStatus', ...fields, body: encodeTransactionStatus(record, nowMs) },
  ]
}

/** The entries of a block, its footer, the block itself, and its meta alone. */
export const toBlockEntries = (
  block: Block,
  accounts: readonly AccountEntry[],
  nowMs: number,
  isShortened = false,
): FeedEntry[] => [
  ...encodeEntries(block, nowMs).map(body => ({ kind: 'entry' as const, body })),
  ...[false, true].map(hasCertificates => ({
    kind: 'blockFooter' as const,
    hasCertificates,
    body: encodeBlockFooter(block, nowMs, hasCertificates),
  })),
  { kind: 'block', block, accounts, isShortened, atMs: nowMs },
  { kind: 'blockMeta', body: encodeBlockMeta(block, nowMs) },
]
