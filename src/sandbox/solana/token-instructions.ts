import { ADDRESSES } from './addresses.js'
import {
  type AccountMeta,
  type Instruction,
  readonly,
  readonlySigner,
  writable,
  writableSigner,
} from './compile-transaction.js'
import { deriveTokenAccount } from './derive-address.js'

/** Instruction tags, the same in both token programs. */
const TAG = {
  approve: 4,
  mintTo: 7,
  closeAccount: 9,
  freezeAccount: 10,
  transferChecked: 12,
  syncNative: 17,
  initializeAccount3: 18,
  initializeMint2: 20,
  interestBearingMint: 33,
  metadataPointer: 39,
} as const

/** First 8 bytes of the SHA-256 of the instruction's name in the metadata interface. */
const INITIALIZE_METADATA = Buffer.from('d2e11ea258b84d8d', 'hex')

const uint64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([length, bytes])
}

const call = (
  programId: Uint8Array,
  accounts: readonly AccountMeta[],
  ...parts: readonly (number | Uint8Array)[]
): Instruction => ({
  programId,
  accounts,
  data: Buffer.concat(parts.map(part => (typeof part === 'number' ? Buffer.of(part) : part))),
})

export type MintAuthorities = {
  readonly decimals: number
  readonly mintAuthority: Uint8Array
  readonly freezeAuthority: Uint8Array
}

export const initializeMint = (
  program: Uint8Array,
  mint: Uint8Array,
  { decimals, mintAuthority, freezeAuthority }: MintAuthorities,
): Instruction =>
  call(program, [writable(mint)], TAG.initializeMint2, decimals, mintAuthority, 1, freezeAuthority)

/** Must precede the initialization of the mint. `rateBasisPoints` is the annual rate. */
export const initializeInterest = (
  mint: Uint8Array,
  authority: Uint8Array,
  rateBasisPoints: number,
): Instruction => {
  const rate = Buffer.alloc(2)
  rate.writeInt16LE(rateBasisPoints)
  return call(ADDRESSES.token2022, [writable(mint)], TAG.interestBearingMint, 0, authority, rate)
}

/** Must precede the initialization of the mint. The mint contains its own metadata. */
export const initializeMetadataPointer = (mint: Uint8Array, authority: Uint8Array): Instruction =>
  call(ADDRESSES.token2022, [writable(mint)], TAG.metadataPointer, 0, authority, mint)

export type TokenMetadata = {
  readonly name: string
  readonly symbol: string
  readonly uri: string
}

/** Must follow the initialization of the mint, which grows and must already be rent-exempt. */
export const initializeMetadata = (
  mint: Uint8Array,
  authority: Uint8Array,
  { name, symbol, uri }: TokenMetadata,
): Instruction =>
  call(
    ADDRESSES.token2022,
    [writable(mint), readonly(authority), readonly(mint), readonlySigner(authority)],
    INITIALIZE_METADATA,
    text(name),
    text(symbol),
    text(uri),
  )

export const initializeAccount = (
  account: Uint8Array,
  mint: Uint8Array,
  owner: Uint8Array,
): Instruction =>
  call(ADDRESSES.token, [writable(account), readonly(mint)], TAG.initializeAccount3, owner)

/** Creates an associated token account; succeeds where it exists. */
export const createTokenAccount = (
  payer: Uint8Array,
  wallet: Uint8Array,
  { mint, program }: { readonly mint: Uint8Array; readonly program: Uint8Array },
): Instruction =>
  call(
    ADDRESSES.associatedToken,
    [
      writableSigner(payer),
      writable(deriveTokenAccount(wallet, mint, program)),
      readonly(wallet),
      readonly(mint),
      readonly(ADDRESSES.system),
      readonly(program),
    ],
    1,
  )

export const mintTo = (
  program: Uint8Array,
  { mint, account }: { readonly mint: Uint8Array; readonly account: Uint8Array },
  authority: Uint8Array,
  amount: bigint,
): Instruction =>
  call(
    program,
    [writable(mint), writable(account), readonlySigner(authority)],
    TAG.mintTo,
    uint64(amount),
  )

/** A transfer between two token accounts. */
export type TokenTransfer = {
  readonly from: Uint8Array
  readonly to: Uint8Array
  readonly mint: Uint8Array
  readonly amount: bigint
  readonly decimals: number
}

export const transferTokens = (
  { from, to, mint, amount, decimals }: TokenTransfer,
  owner: Uint8Array,
): Instruction =>
  call(
    ADDRESSES.token,
    [writable(from), readonly(mint), writable(to), readonlySigner(owner)],
    TAG.transferChecked,
    uint64(amount),
    decimals,
  )

export const approveDelegate = (
  account: Uint8Array,
  delegate: Uint8Array,
  owner: Uint8Array,
  amount: bigint,
): Instruction =>
  call(
    ADDRESSES.token,
    [writable(account), readonly(delegate), readonlySigner(owner)],
    TAG.approve,
    uint64(amount),
  )

export const freezeAccount = (
  account: Uint8Array,
  mint: Uint8Array,
  authority: Uint8Array,
): Instruction =>
  call(
    ADDRESSES.token,
    [writable(account), readonly(mint), readonlySigner(authority)],
    TAG.freezeAccount,
  )

/** Sets the amount of a native token account to its lamports. */
export const syncNative = (account: Uint8Array): Instruction =>
  call(ADDRESSES.token, [writable(account)], TAG.syncNative)

/** Closes a token account; `to` receives its lamports. */
export const closeAccount = (account: Uint8Array, to: Uint8Array, owner: Uint8Array): Instruction =>
  call(ADDRESSES.token, [writable(account), writable(to), readonlySigner(owner)], TAG.closeAccount)
