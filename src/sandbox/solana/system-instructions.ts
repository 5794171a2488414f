import { ADDRESSES } from './addresses.js'
import { type Instruction, writable, writableSigner } from './compile-transaction.js'

const CREATE_ACCOUNT = 0
const TRANSFER = 2

export const transferLamports = (
  from: Uint8Array,
  to: Uint8Array,
  lamports: bigint,
): Instruction => {
  const data = Buffer.alloc(12)
  data.writeUInt32LE(TRANSFER)
  data.writeBigUInt64LE(lamports, 4)
  return { programId: ADDRESSES.system, accounts: [writableSigner(from), writable(to)], data }
}

/** Initial state of a new account. */
export type NewAccount = {
  readonly lamports: bigint
  readonly space: number
  readonly owner: Uint8Array
}

/** Creates an account; its key must sign, too. */
export const createAccount = (
  payer: Uint8Array,
  pubkey: Uint8Array,
  { lamports, space, owner }: NewAccount,
): Instruction => {
  const data = Buffer.alloc(52)
  data.writeUInt32LE(CREATE_ACCOUNT)
  data.writeBigUInt64LE(lamports, 4)
  data.writeBigUInt64LE(BigInt(space), 12)
  data.set(owner, 20)
  return {
    programId: ADDRESSES.system,
    accounts: [writableSigner(payer), writableSigner(pubkey)],
    data,
  }
}
