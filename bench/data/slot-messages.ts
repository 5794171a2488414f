// The messages of a synthetic chain's slots, as a Yellowstone server sends them at CONFIRMED: all
// of a slot at once.
import bs58 from 'bs58'
import { encodeFrameHeader } from '../../src/sandbox/geyser/grpc-message.js'
import { yellowstone } from '../../test/fixtures/sandbox/yellowstone.js'

const { SubscribeUpdate } = yellowstone

/** Subscribed accounts, each of which every slot writes. */
const WATCHED = 1_000
/** Accounts that a slot writes beside them, and those that take turns in it. */
const OTHERS = 1_000
const OTHERS_IN_ALL = 20_000
/** Accounts that only the first slot writes. */
export const STILL = 1_000
/** Transactions of a slot, each with a payer of its own, whom every slot has. */
export const PAYERS = 300
export const SLOT_MS = 200
/** The first slot; it writes every account. Later ones have as many digits. */
export const FIRST_SLOT = 100_001
export const DATA_BYTES = 165
/** Where the data of a watched account has its address. */
export const OWNER_AT = 32

const [CONFIRMED, FINALIZED] = [1, 2]
const ROOTED_AFTER = 2
const LOGS = Array.from({ length: 6 }, (_, index) => `Program log: line ${index} of a transfer`)

const numbered = (kind: number, index: number, bytes = 32): Buffer => {
  const key = Buffer.alloc(bytes, kind)
  key.writeUInt32BE(index + 1, 0)
  return key
}

export const PROGRAM = numbered(1, 0)
const OTHER_PROGRAM = numbered(2, 0)
export const watchedKey = (index: number): Buffer => numbered(3, index)
const otherKey = (index: number): Buffer => numbered(4, index)
export const stillKey = (index: number): Buffer => numbered(5, index)
export const payerKey = (index: number): Buffer => numbered(6, index)
const hash = (slot: number): Buffer => numbered(7, slot)

export const signatureOf = (slot: number, index: number): Buffer => {
  const signature = numbered(8, slot, 64)
  signature.writeUInt32BE(index + 1, 40)
  return signature
}

type Update = Parameters<typeof SubscribeUpdate.fromPartial>[0]

const frame = (update: object): Buffer => {
  const whole = SubscribeUpdate.fromPartial(update as Update)
  const bytes = SubscribeUpdate.encode(whole).finish()
  return Buffer.concat([encodeFrameHeader(bytes.length), bytes])
}

const account = (slot: number, pubkey: Buffer, owner: Buffer): Buffer => {
  const data = Buffer.alloc(DATA_BYTES, slot)
  pubkey.copy(data, OWNER_AT)
  const info = { pubkey, owner, lamports: `${1_000_000_000 + slot}`, data, writeVersion: `${slot}` }
  const txnSignature = signatureOf(slot, 0)
  const rentEpoch = `${2n ** 64n - 1n}`
  return frame({ account: { slot: `${slot}`, account: { ...info, rentEpoch, txnSignature } } })
}

/** A transfer with a priority fee: some 1,000 bytes. */
const transaction = (slot: number, index: number): Buffer => {
  const signature = signatureOf(slot, index)
  const accountKeys = [
    payerKey(index),
    watchedKey((index * 2) % WATCHED),
    watchedKey((index * 2 + 1) % WATCHED),
    PROGRAM,
  ]
  const balances = accountKeys.map((_, at) => `${1_000_000_000 + at}`)
  return frame({
    transaction: {
      slot: `${slot}`,
      transaction: {
        signature,
        index: `${index}`,
        transaction: {
          signatures: [signature],
          message: {
            header: {
              numRequiredSignatures: 1,
              numReadonlySignedAccounts: 0,
              numReadonlyUnsignedAccounts: 1,
            },
            accountKeys,
            recentBlockhash: hash(slot - 1),
            instructions: [
              { programIdIndex: 3, accounts: Buffer.from([1, 2, 0]), data: Buffer.alloc(10, 12) },
            ],
          },
        },
        meta: {
          fee: `${5_000 + (index % 50)}`,
          preBalances: balances,
          postBalances: balances,
          logMessages: LOGS,
          computeUnitsConsumed: '4645',
        },
      },
    },
  })
}

const status = (slot: number, of: number): Buffer =>
  frame({ slot: { slot: `${slot}`, parent: `${slot - 1}`, status: of } })

const meta = (slot: number): Buffer =>
  frame({
    blockMeta: {
      slot: `${slot}`,
      blockhash: bs58.encode(hash(slot)),
      parentSlot: `${slot - 1}`,
      parentBlockhash: bs58.encode(hash(slot - 1)),
      blockHeight: { blockHeight: `${slot}` },
      blockTime: { timestamp: '1764000000' },
      executedTransactionCount: `${PAYERS}`,
    },
  })

const times = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index))

/** All messages of a slot, framed. */
export const encodeSlot = (slot: number): Buffer => {
  const isFirst = slot === FIRST_SLOT
  const first = (slot * OTHERS) % OTHERS_IN_ALL
  return Buffer.concat([
    ...times(WATCHED, index => account(slot, watchedKey(index), PROGRAM)),
    ...times(isFirst ? OTHERS_IN_ALL : OTHERS, index =>
      account(slot, otherKey((first + index) % OTHERS_IN_ALL), OTHER_PROGRAM),
    ),
    ...times(isFirst ? STILL : 0, index => account(slot, stillKey(index), OTHER_PROGRAM)),
    ...times(PAYERS, index => transaction(slot, index)),
    meta(slot),
    status(slot, CONFIRMED),
    ...(slot >= FIRST_SLOT + ROOTED_AFTER ? [status(slot - ROOTED_AFTER, FINALIZED)] : []),
  ])
}
