import bs58 from 'bs58'
import { ADDRESSES } from '../solana/addresses.js'
import type { Chain } from './chain.js'
import { deriveTokenAccount } from '../solana/derive-address.js'
import { deriveKeypair, type Keypair } from '../solana/keypair.js'
import { createAccount, transferLamports } from '../solana/system-instructions.js'
import {
  approveDelegate,
  createTokenAccount,
  freezeAccount,
  initializeAccount,
  initializeInterest,
  initializeMetadata,
  initializeMetadataPointer,
  initializeMint,
  mintTo,
  syncNative,
} from '../solana/token-instructions.js'

/** Addresses and keys of the initial accounts, in base58. */
export type Samples = {
  /** 64 bytes; the fee payer, and the authority of every mint. */
  readonly payerSecretKey: string
  /** A wallet with 25 token accounts, and its secret key. */
  readonly wallet: string
  readonly walletSecretKey: string
  /** 6 decimals, 30 holders. */
  readonly mint: string
  /** A Token-2022 mint with interest and metadata. */
  readonly mint2022: string
  /** The wallet's account of `mint`. */
  readonly tokenAccount: string
  /** The wallet's account of `mint2022`. */
  readonly tokenAccount2022: string
  /** A program with several pages of accounts. */
  readonly program: string
  readonly frozen: string
  readonly delegated: string
  readonly native: string
}

/** One owner of the sample mint. */
export type Holder = { readonly wallet: Keypair; readonly account: Uint8Array }

/** The initial accounts, as the sandbox uses them. */
export type SampleAccounts = {
  readonly samples: Samples
  readonly payer: Keypair
  readonly mint: Uint8Array
  /** Holders that the traffic uses: all but the tied ones and the empty one. */
  readonly holders: readonly Holder[]
}

export const MINT_DECIMALS = 6
const MINT_BYTES = 82
const ACCOUNT_BYTES = 165
/**
 * A mint with interest and metadata pointer, before the metadata: 166 bytes and two extensions of
 * 52 and 64 bytes with a header of 4 bytes each.
 */
const MINT_2022_BYTES = 290
/** Metadata enlarges the mint; its rent is paid in advance. */
const METADATA_BYTES_MAX = 512

const SOL = 1_000_000_000n
const PAYER_LAMPORTS = 100_000_000n * SOL
const HOLDER_LAMPORTS = 1_000n * SOL
const TOKEN = 1_000_000n

const HOLDER_COUNT = 30
/** Mints with one account of the wallet each. */
const SMALL_MINT_COUNT = 10
/** Token accounts of the wallet that are not associated ones. */
const EXTRA_ACCOUNT_COUNT = 12

/** Distinct and descending, but for the last four: three equal amounts, and 0. */
const holderAmount = (index: number): bigint => {
  if (index === HOLDER_COUNT - 1) return 0n
  return index >= HOLDER_COUNT - 4 ? 5n * TOKEN : BigInt(HOLDER_COUNT - index) * 1_000n * TOKEN
}

type Mint = { readonly mint: Uint8Array; readonly program: Uint8Array }

/** Creates accounts by real transactions of the payer, in the open block. */
class AccountBuilder {
  readonly payer: Keypair
  private readonly chain: Chain

  constructor(chain: Chain) {
    this.chain = chain
    this.payer = this.keypair('payer')
  }

  keypair(name: string): Keypair {
    return deriveKeypair(this.chain.options.seed, name)
  }

  createMint(name: string, decimals: number): Mint {
    const mint = this.keypair(name)
    const authority = this.payer.publicKey
    this.chain.submit(
      [
        this.allocate(mint, MINT_BYTES, ADDRESSES.token),
        initializeMint(ADDRESSES.token, mint.publicKey, {
          decimals,
          mintAuthority: authority,
          freezeAuthority: authority,
        }),
      ],
      [this.payer, mint],
    )
    return { mint: mint.publicKey, program: ADDRESSES.token }
  }

  createMint2022(name: string): Mint {
    const mint = this.keypair(name)
    const authority = this.payer.publicKey
    this.chain.submit(
      [
        this.allocate(mint, MINT_2022_BYTES, ADDRESSES.token2022, METADATA_BYTES_MAX),
        initializeInterest(mint.publicKey, authority, 500),
        initializeMetadataPointer(mint.publicKey, authority),
        initializeMint(ADDRESSES.token2022, mint.publicKey, {
          decimals: 9,
          mintAuthority: authority,
          freezeAuthority: authority,
        }),
        initializeMetadata(mint.publicKey, authority, {
          name: 'Sandbox Dollar',
          symbol: 'SBX',
          uri: 'https://example.com/sbx.json',
        }),
      ],
      [this.payer, mint],
    )
    return { mint: mint.publicKey, program: ADDRESSES.token2022 }
  }

  /** Creates the associated token account of a wallet, and mints tokens to it. */
  createTokenAccount(wallet: Uint8Array, { mint, program }: Mint, amount: bigint): Uint8Array {
    const account = deriveTokenAccount(wallet, mint, program)
    const create = createTokenAccount(this.payer.publicKey, wallet, { mint, program })
    const fill = mintTo(program, { mint, account }, this.payer.publicKey, amount)
    this.chain.submit(amount > 0n ? [create, fill] : [create], [this.payer])
    return account
  }

  /** Creates a token account at an address of its own, and mints tokens to it. */
  createExtraAccount(name: string, wallet: Uint8Array, { mint }: Mint, amount: bigint): void {
    const account = this.keypair(name)
    this.chain.submit(
      [
        this.allocate(account, ACCOUNT_BYTES, ADDRESSES.token),
        initializeAccount(account.publicKey, mint, wallet),
        mintTo(ADDRESSES.token, { mint, account: account.publicKey }, this.payer.publicKey, amount),
      ],
      [this.payer, account],
    )
  }

  createHolders(first: Keypair, mint: Mint): Holder[] {
    return Array.from({ length: HOLDER_COUNT }, (_none, index): Holder => {
      const wallet = index === 0 ? first : this.keypair(`holder ${index}`)
      const { publicKey } = wallet
      this.chain.submit(
        [transferLamports(this.payer.publicKey, publicKey, HOLDER_LAMPORTS)],
        [this.payer],
      )
      return { wallet, account: this.createTokenAccount(publicKey, mint, holderAmount(index)) }
    })
  }

  /** Mints with one account of the wallet each: the first frozen, the second delegated. */
  createSmallMints(wallet: Keypair) {
    const mints = Array.from({ length: SMALL_MINT_COUNT }, (_none, index) =>
      this.createMint(`small mint ${index}`, index),
    )
    const [frozen, delegated] = mints.map((mint, index) =>
      this.createTokenAccount(wallet.publicKey, mint, BigInt(index + 1) * 1_000n),
    )
    const [first] = mints
    if (frozen === undefined || delegated === undefined || first === undefined)
      throw new Error('the sandbox needs two small mints')
    this.chain.submit([freezeAccount(frozen, first.mint, this.payer.publicKey)], [this.payer])
    const delegate = this.keypair('delegate').publicKey
    this.chain.submit([approveDelegate(delegated, delegate, wallet.publicKey, 750n)], [wallet])
    for (let index = 0; index < EXTRA_ACCOUNT_COUNT; index++) {
      const mint = mints[index % SMALL_MINT_COUNT] ?? first
      const name = `extra account ${index}`
      this.createExtraAccount(name, wallet.publicKey, mint, BigInt(index + 1))
    }
    return { frozen, delegated }
  }

  /** Wraps lamports of the wallet. */
  createNativeAccount(wallet: Keypair, lamports: bigint): Uint8Array {
    const mint = { mint: ADDRESSES.nativeMint, program: ADDRESSES.token }
    const account = deriveTokenAccount(wallet.publicKey, mint.mint, mint.program)
    this.chain.submit(
      [
        createTokenAccount(wallet.publicKey, wallet.publicKey, mint),
        transferLamports(wallet.publicKey, account, lamports),
        syncNative(account),
      ],
      [wallet],
    )
    return account
  }

  private allocate(account: Keypair, byteCount: number, owner: Uint8Array, extraByteCount = 0) {
    return createAccount(this.payer.publicKey, account.publicKey, {
      lamports: this.chain.rentExemptLamports(byteCount + extraByteCount),
      space: byteCount,
      owner,
    })
  }
}

/** Creates the initial accounts of the sandbox. */
export const createSampleAccounts = (chain: Chain): SampleAccounts => {
  const builder = new AccountBuilder(chain)
  const { payer } = builder
  const wallet = builder.keypair('wallet')
  chain.airdrop(payer.publicKey, PAYER_LAMPORTS)

  const mint = builder.createMint('mint', MINT_DECIMALS)
  const holders = builder.createHolders(wallet, mint)
  const mint2022 = builder.createMint2022('mint2022')
  const account2022 = builder.createTokenAccount(wallet.publicKey, mint2022, 1_000n * SOL)
  const { frozen, delegated } = builder.createSmallMints(wallet)
  const native = builder.createNativeAccount(wallet, 2n * SOL)
  const tokenAccount = deriveTokenAccount(wallet.publicKey, mint.mint, mint.program)
  return {
    payer,
    mint: mint.mint,
    holders: holders.slice(0, HOLDER_COUNT - 4),
    samples: {
      payerSecretKey: bs58.encode(payer.secretKey),
      wallet: bs58.encode(wallet.publicKey),
      walletSecretKey: bs58.encode(wallet.secretKey),
      mint: bs58.encode(mint.mint),
      mint2022: bs58.encode(mint2022.mint),
      tokenAccount: bs58.encode(tokenAccount),
      tokenAccount2022: bs58.encode(account2022),
      program: bs58.encode(ADDRESSES.token),
      frozen: bs58.encode(frozen),
      delegated: bs58.encode(delegated),
      native: bs58.encode(native),
    },
  }
}
