import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import type { AccountUpdate, Block, TokenBalance, TransactionRecord } from '../chain/block.js'
import type { ComputeBudget, ParsedTransaction } from '../solana/transaction.js'
import { decodeFields, MessageWriter } from './protobuf.js'
import { encodeTransactionError } from '../chain/transaction-error.js'

/**
 * Encodes updates as in `geyser.proto` and `solana-storage.proto`. Each is encoded once, without
 * the filter labels: those differ by subscriber and are prepended, which the wire format allows.
 */

/** Statuses of a slot by their number on the wire. */
export const SLOT_STATUS = {
  processed: 0,
  confirmed: 1,
  finalized: 2,
  firstShredReceived: 3,
  completed: 4,
  createdBank: 5,
  dead: 6,
} as const
export type SlotStatus = keyof typeof SLOT_STATUS

const UPDATE = {
  filters: 1,
  account: 2,
  slot: 3,
  transaction: 4,
  block: 5,
  ping: 6,
  blockMeta: 7,
  entry: 8,
  pong: 9,
  transactionStatus: 10,
  createdAt: 11,
  blockFooter: 12,
} as const

const timestamp = (unixMs: number): MessageWriter =>
  new MessageWriter(16)
    .uint(1, Math.floor(unixMs / 1000))
    .uint(2, Math.floor(unixMs % 1000) * 1_000_000)

/** An update; `createdAt` is its field of the time. */
export const update = (
  field: number,
  message: MessageWriter,
  nowMs: number,
  createdAt: number = UPDATE.createdAt,
): Buffer => {
  const body = message.finish()
  return new MessageWriter(body.length + 32)
    .bytesAlways(field, body)
    .message(createdAt, timestamp(nowMs))
    .pack()
}

/** The field of the bank in each kind of update that names one. */
const BANK_FIELD = {
  account: 4,
  slot: 5,
  transaction: 3,
  transactionStatus: 6,
  blockMeta: 10,
  entry: 7,
  blockFooter: 2,
} as const
export type BankKind = keyof typeof BANK_FIELD

/**
 * Adds the bank to an update, or replaces it: of two values of a field the last one counts. Also
 * returns how far the update's own fields moved, in bytes.
 */
export const insertBank = (
  kind: BankKind,
  body: Buffer,
  bank: number,
): { body: Buffer; movedBytes: number } => {
  const field = new MessageWriter(12).uint(BANK_FIELD[kind], bank).finish()
  const [message] = decodeFields(body)
  if (message === undefined) return { body, movedBytes: 0 }
  const { number, bytes } = message
  const headBytes = bytes.byteOffset - body.byteOffset
  const head = new MessageWriter(12).prefix(number, bytes.length + field.length).finish()
  const rest = body.subarray(headBytes + bytes.length)
  return {
    body: Buffer.concat([head, bytes, field, rest]),
    movedBytes: head.length - headBytes,
  }
}

/** The label of a matching filter, to prepend to the body of an update. */
export const encodeLabel = (label: string): Buffer =>
  new MessageWriter(label.length + 8).stringAlways(UPDATE.filters, label).finish()

/** `dataAt` is where the account's data begins in `body`. */
export const encodeAccount = (
  account: AccountUpdate,
  nowMs: number,
): { body: Buffer; dataAt: number } => {
  const { data } = account
  const head = new MessageWriter(128)
    .bytesField(1, account.pubkey)
    .uint(2, account.lamports)
    .bytesField(3, account.owner)
    .bool(4, account.executable)
    .uint(5, account.rentEpoch)
  if (data.length > 0) head.prefix(6, data.length)
  const tail = new MessageWriter(96).uint(7, account.writeVersion)
  if (account.signature !== undefined) tail.bytesAlways(8, account.signature)
  const infoByteCount = head.byteCount + data.length + tail.byteCount
  const slot = new MessageWriter(16).uint(2, account.slot)
  const info = new MessageWriter(8).prefix(1, infoByteCount)
  const body = new MessageWriter(infoByteCount + 64)
    .prefix(UPDATE.account, info.byteCount + infoByteCount + slot.byteCount)
    .raw(info.finish())
    .raw(head.finish())
  const dataAt = body.byteCount
  body.raw(data).raw(tail.finish()).raw(slot.finish())
  return { dataAt, body: body.message(UPDATE.createdAt, timestamp(nowMs)).pack() }
}

/** The same update with other data, for a subscriber that asks for slices. */
export const replaceData = (body: Buffer, data: Uint8Array): Buffer => {
  const rewrite = (bytes: Uint8Array, path: readonly number[]): MessageWriter => {
    const writer = new MessageWriter(bytes.length + 8)
    const [at, ...rest] = path
    for (const { number, varint, bytes: value, isNumber } of decodeFields(bytes))
      if (isNumber) writer.uintAlways(number, varint)
      else if (number !== at) writer.bytesAlways(number, value)
      else if (rest.length === 0) writer.bytesField(number, data)
      else writer.message(number, rewrite(value, rest))
    return writer
  }
  // SubscribeUpdate.account → SubscribeUpdateAccount.account → its data.
  return rewrite(body, [UPDATE.account, 1, 6]).finish()
}

export const encodeSlot = (
  slot: number,
  parentSlot: number,
  status: SlotStatus,
  nowMs: number,
): Buffer => {
  const message = new MessageWriter(32)
    .uint(1, slot)
    .uintAlways(2, parentSlot)
    .uint(3, SLOT_STATUS[status])
  return update(UPDATE.slot, message, nowMs)
}

/** Transactions that a leader puts into one entry at most. */
const ENTRY_TRANSACTIONS_MAX = 64

/** Those with transactions, and the tick that ends the block. */
const entryCountOf = ({ transactions }: Block): number =>
  Math.ceil(transactions.length / ENTRY_TRANSACTIONS_MAX) + 1

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** The entries of a block. The hash of each depends on the one before; the last is the block's. */
export const encodeEntries = (block: Block, nowMs: number): Buffer[] => {
  const { slot, transactions } = block
  const count = entryCountOf(block)
  let hash: Uint8Array = bs58.decode(block.parentBlockhash)
  return Array.from({ length: count }, (_none, index) => {
    const from = Math.min(index * ENTRY_TRANSACTIONS_MAX, transactions.length)
    const own = transactions.slice(from, from + ENTRY_TRANSACTIONS_MAX)
    const isLast = index === count - 1
    hash = isLast
      ? bs58.decode(block.blockhash)
      : sha256(hash, ...own.map(({ signature }) => signature))
    const message = new MessageWriter(64)
      .uint(1, slot)
      .uint(2, index)
      .uint(3, 1)
      .bytesField(4, hash)
      .uint(5, own.length)
      .uint(6, from)
    return update(UPDATE.entry, message, nowMs)
  })
}

const SIGNATURE_BYTES = 96

/** That the parent is final, by a signature and signers that are made up. */
const finalCertificate = ({ parentSlot, parentBlockhash }: Block): MessageWriter => {
  const blockId = bs58.decode(parentBlockhash)
  const aggregate = new MessageWriter(192)
    .bytesField(2, Buffer.alloc(SIGNATURE_BYTES, sha256(blockId)))
    .bytesField(3, blockId)
    .bytesField(4, Uint8Array.of(0, 4, 0, 0b1111))
  return new MessageWriter(256).uint(1, parentSlot).message(2, aggregate)
}

/** The footer of a block of Alpenglow. */
export const encodeBlockFooter = (
  block: Block,
  nowMs: number,
  hasCertificates: boolean,
): Buffer => {
  const message = new MessageWriter(512)
    .uint(1, block.slot)
    .bytesField(3, sha256(Buffer.from('bank'), bs58.decode(block.blockhash)))
    .uint(4, BigInt(block.blockTime) * 1_000_000_000n)
    .string(5, 'slotline-sandbox')
  if (hasCertificates) message.message(9, finalCertificate(block))
  return update(UPDATE.blockFooter, message, nowMs)
}

export const encodeBlockMeta = (block: Block, nowMs: number): Buffer => {
  const message = new MessageWriter(192)
    .uint(1, block.slot)
    .string(2, block.blockhash)
    .message(3, new MessageWriter(1))
    .message(4, new MessageWriter(16).uint(1, block.blockTime))
    .message(5, new MessageWriter(16).uint(1, block.blockHeight))
    .uint(6, block.parentSlot)
    .string(7, block.parentBlockhash)
    .uint(8, block.transactions.length)
    .uint(9, entryCountOf(block))
  return update(UPDATE.blockMeta, message, nowMs)
}

/** The account in an account update, as a block contains it. */
const accountInfoOf = (body: Uint8Array): Uint8Array => {
  const bytesOf = (bytes: Uint8Array, wanted: number): Uint8Array =>
    decodeFields(bytes).find(({ number }) => number === wanted)?.bytes ?? new Uint8Array(0)
  return bytesOf(bytesOf(body, UPDATE.account), 1)
}

/** A block with the accounts of these updates; it may announce more. */
export const encodeBlock = (
  block: Block,
  accounts: readonly Buffer[],
  nowMs: number,
  { announced = accounts.length, bank = 0 }: { announced?: number; bank?: number | undefined } = {},
): Buffer => {
  const message = new MessageWriter(4096)
    .uint(1, block.slot)
    .string(2, block.blockhash)
    .message(3, new MessageWriter(1))
    .message(4, new MessageWriter(16).uint(1, block.blockTime))
    .message(5, new MessageWriter(16).uint(1, block.blockHeight))
    .uint(7, block.parentSlot)
    .string(8, block.parentBlockhash)
    .uint(9, block.transactions.length)
    .uint(10, announced)
    .uint(12, entryCountOf(block))
    .uint(14, bank)
  for (const body of accounts) message.bytesAlways(11, accountInfoOf(body))
  return update(UPDATE.block, message, nowMs)
}

/** What version 1 sets; even if that is nothing, because only version 1 has it. */
const transactionConfig = (budget: ComputeBudget): MessageWriter => {
  const config = new MessageWriter(32)
  if (budget.hasPriorityFee) config.uintAlways(1, budget.priorityFeeLamports)
  if (budget.unitLimit !== undefined) config.uintAlways(2, budget.unitLimit)
  if (budget.loadedBytesMax !== undefined) config.uintAlways(3, budget.loadedBytesMax)
  if (budget.heapBytes !== undefined) config.uintAlways(4, budget.heapBytes)
  return config
}

export const transactionMessage = (transaction: ParsedTransaction): MessageWriter => {
  const header = new MessageWriter(16)
    .uint(1, transaction.requiredSignatureCount)
    .uint(2, transaction.readonlySignedCount)
    .uint(3, transaction.readonlyUnsignedCount)
  const message = new MessageWriter(1024).message(1, header)
  for (const key of transaction.keys) message.bytesAlways(2, key)
  message.bytesField(3, transaction.recentBlockhash)
  for (const { programIdIndex, accounts, data } of transaction.instructions)
    message.message(
      4,
      new MessageWriter().uint(1, programIdIndex).bytesField(2, accounts).bytesField(3, data),
    )
  message.bool(5, transaction.version !== 'legacy')
  for (const { table, writableIndexes, readonlyIndexes } of transaction.lookups)
    message.message(
      6,
      new MessageWriter()
        .bytesField(1, table)
        .bytesField(2, writableIndexes)
        .bytesField(3, readonlyIndexes),
    )
  if (transaction.budget !== undefined) message.message(7, transactionConfig(transaction.budget))
  const whole = new MessageWriter(2048)
  for (const signature of transaction.signatures) whole.bytesAlways(1, signature)
  return whole.message(2, message)
}

/** `amount` as an exact decimal without trailing zeros. */
const formatAmount = (amount: bigint, decimals: number): string => {
  if (decimals === 0) return String(amount)
  const digits = String(amount).padStart(decimals + 1, '0')
  const at = digits.length - decimals
  return `${digits.slice(0, at)}.${digits.slice(at)}`.replace(/\.?0+$/, '')
}

const tokenBalance = (balance: TokenBalance): MessageWriter => {
  const text = formatAmount(balance.amount, balance.decimals)
  const amount = new MessageWriter(64)
    .double(1, Number(text))
    .uint(2, balance.decimals)
    .string(3, String(balance.amount))
    .string(4, text)
  return new MessageWriter()
    .uint(1, balance.accountIndex)
    .string(2, balance.mint)
    .message(3, amount)
    .string(4, balance.owner)
    .string(5, balance.programId)
}

const packBalances = (balances: readonly bigint[]): MessageWriter => {
  const packed = new MessageWriter(balances.length * 10)
  for (const balance of balances) packed.packedUint(balance)
  return packed
}

const transactionMeta = (record: TransactionRecord): MessageWriter => {
  const meta = new MessageWriter(1024)
  if (record.error !== undefined) meta.message(1, transactionError(record.error))
  meta.uint(2, record.feeLamports)
  meta.message(3, packBalances(record.preBalances))
  meta.message(4, packBalances(record.postBalances))
  record.innerInstructions.forEach((list, index) => {
    if (list.length === 0) return
    const inner = new MessageWriter().uint(1, index)
    for (const { programIdIndex, accounts, data, stackHeight } of list)
      inner.message(
        2,
        new MessageWriter()
          .uint(1, programIdIndex)
          .bytesField(2, accounts)
          .bytesField(3, data)
          .uintAlways(4, stackHeight),
      )
    meta.message(5, inner)
  })
  for (const line of record.logs) meta.stringAlways(6, line)
  for (const balance of record.preTokenBalances) meta.message(7, tokenBalance(balance))
  for (const balance of record.postTokenBalances) meta.message(8, tokenBalance(balance))
  for (const key of record.loadedWritable) meta.bytesAlways(12, key)
  for (const key of record.loadedReadonly) meta.bytesAlways(13, key)
  const { returnData } = record
  if (returnData === undefined) meta.bool(15, true)
  else
    meta.message(
      14,
      new MessageWriter().bytesField(1, returnData.programId).bytesField(2, returnData.data),
    )
  return meta.uintAlways(16, record.computeUnits)
}

const transactionError = (error: NonNullable<TransactionRecord['error']>): MessageWriter =>
  new MessageWriter(16).bytesField(1, encodeTransactionError(error))

export const encodeTransaction = (record: TransactionRecord, nowMs: number): Buffer => {
  const info = new MessageWriter(4096)
    .bytesField(1, record.signature)
    .message(3, transactionMessage(record.transaction))
    .message(4, transactionMeta(record))
    .uint(5, record.index)
  const message = new MessageWriter(4096).message(1, info).uint(2, record.slot)
  return update(UPDATE.transaction, message, nowMs)
}

export const encodeTransactionStatus = (record: TransactionRecord, nowMs: number): Buffer => {
  const message = new MessageWriter(128)
    .uint(1, record.slot)
    .bytesField(2, record.signature)
    .uint(4, record.index)
  if (record.error !== undefined) message.message(5, transactionError(record.error))
  return update(UPDATE.transactionStatus, message, nowMs)
}

/** Keeps idle streams open. */
export const encodePing = (nowMs: number): Buffer =>
  update(UPDATE.ping, new MessageWriter(1), nowMs)

export const encodePong = (id: number, nowMs: number): Buffer =>
  update(UPDATE.pong, new MessageWriter(16).int(1, id), nowMs)
