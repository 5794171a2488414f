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

/** What exists at start, as text that a client can paste. */
export type Samples = {
  /** 64 bytes in base58; pays and holds every authority. */
  readonly payerSecretKey: string
  /** A wallet with 25 token accounts, and its key. */
  readonly wallet: string
  readonly walletSecretKey: string
  /** 6 decimals, 30 holders. */
  readonly mint: string
  /** Token-2022 with interest and metadata. */
  readonly mint2022: string
  /** The wallet's account of `mint`. */
  readonly tokenAccount: string
  /** The wallet's account of `mint2022`. */
  readonly tokenAccount2022: string
  /** A program with accounts to page. */
  readonly program: string
  readonly frozen: string
  readonly delegated: string
  readonly native: string
}

/** One owner of the sample mint. */
export type Holder = { readonly wallet: Keypair; readonly account: Uint8Array }

/** What the sandbox itself goes on to use. */
export type World = {
  readonly samples: Samples
  readonly payer: Keypair
  readonly mint: Uint8Array
  /** Holders with tokens to move: all but the one with nothing and the ties. */
  readonly holders: readonly Holder[]
}

export const MINT_DECIMALS = 6
const MINT_BYTES = 82
const ACCOUNT_BYTES = 165
/**
 * Mint with interest and pointer, before metadata: 166 and the two extensions of 52 and 64 bytes
 * with 4 of header each.
 */
const MINT_2022_BYTES = 290
/** Metadata grows the mint; its rent is paid before. */
const METADATA_BYTES_MAX = 512

const SOL = 1_000_000_000n
const PAYER_LAMPORTS = 100_000_000n * SOL
const HOLDER_LAMPORTS = 1_000n * SOL
const TOKEN = 1_000_000n

const HOLDER_COUNT = 30
/** Mints of which the wallet holds one account each. */
const SMALL_MINT_COUNT = 10
/** Accounts of the wallet beside the associated ones. */
const EXTRA_ACCOUNT_COUNT = 12

/** Distinct and falling, but the last four: a tie of three, and nothing. */
const holderAmount = (index: number): bigint => {
  if (index === HOLDER_COUNT - 1) return 0n
  return index >= HOLDER_COUNT - 4 ? 5n * TOKEN : BigInt(HOLDER_COUNT - index) * 1_000n * TOKEN
}

/** Makes everything by real transactions in the open block. */
export const createWorld = (chain: Chain): World => {
  const keypair = (name: string): Keypair => deriveKeypair(chain.options.seed, name)
  const payer = keypair('payer')
  const wallet = keypair('wallet')
  const signer = payer.publicKey
  const rentOf = (byteCount: number): bigint => chain.rentExemptLamports(byteCount)

  chain.airdrop(payer.publicKey, PAYER_LAMPORTS)

  const createMint = (name: string, decimals: number): Uint8Array => {
    const mint = keypair(name)
    chain.submit(
      [
        createAccount(signer, mint.publicKey, {
          lamports: rentOf(MINT_BYTES),
          space: MINT_BYTES,
          owner: ADDRESSES.token,
        }),
        initializeMint(ADDRESSES.token, mint.publicKey, {
          decimals,
          mintAuthority: signer,
          freezeAuthority: signer,
        }),
      ],
      [payer, mint],
    )
    return mint.publicKey
  }

  const createMint2022 = (): Uint8Array => {
    const mint = keypair('mint2022')
    chain.submit(
      [
        createAccount(signer, mint.publicKey, {
          lamports: rentOf(MINT_2022_BYTES + METADATA_BYTES_MAX),
          space: MINT_2022_BYTES,
          owner: ADDRESSES.token2022,
        }),
        initializeInterest(mint.publicKey, signer, 500),
        initializeMetadataPointer(mint.publicKey, signer),
        initializeMint(ADDRESSES.token2022, mint.publicKey, {
          decimals: 9,
          mintAuthority: signer,
          freezeAuthority: signer,
        }),
        initializeMetadata(mint.publicKey, signer, {
          name: 'Sandbox Dollar',
          symbol: 'SBX',
          uri: 'https://example.com/sbx.json',
        }),
      ],
      [payer, mint],
    )
    return mint.publicKey
  }

  const give = (
    owner: Uint8Array,
    { mint, amount, program = ADDRESSES.token }: Gift,
  ): Uint8Array => {
    const account = deriveTokenAccount(owner, mint, program)
    const create = createTokenAccount(signer, owner, { mint, program })
    const fill = mintTo(program, { mint, account }, signer, amount)
    chain.submit(amount > 0n ? [create, fill] : [create], [payer])
    return account
  }

  const mint = createMint('mint', MINT_DECIMALS)
  const holders = Array.from({ length: HOLDER_COUNT }, (_none, index): Holder => {
    const owner = index === 0 ? wallet : keypair(`holder ${index}`)
    chain.submit([transferLamports(signer, owner.publicKey, HOLDER_LAMPORTS)], [payer])
    return { wallet: owner, account: give(owner.publicKey, { mint, amount: holderAmount(index) }) }
  })

  const mint2022 = createMint2022()
  const tokenAccount2022 = give(wallet.publicKey, {
    mint: mint2022,
    amount: 1_000n * SOL,
    program: ADDRESSES.token2022,
  })

  const smallMints = Array.from({ length: SMALL_MINT_COUNT }, (_none, index) =>
    createMint(`small mint ${index}`, index),
  )
  const [frozen, delegated] = smallMints.map((small, index) =>
    give(wallet.publicKey, { mint: small, amount: BigInt(index + 1) * 1_000n }),
  )
  const [firstMint] = smallMints
  if (frozen === undefined || delegated === undefined || firstMint === undefined)
    throw new Error('the sandbox needs two small mints')
  chain.submit([freezeAccount(frozen, firstMint, signer)], [payer])
  chain.submit(
    [approveDelegate(delegated, keypair('delegate').publicKey, wallet.publicKey, 750n)],
    [wallet],
  )

  const native = deriveTokenAccount(wallet.publicKey, ADDRESSES.nativeMint, ADDRESSES.token)
  chain.submit(
    [
      createTokenAccount(wallet.publicKey, wallet.publicKey, {
        mint: ADDRESSES.nativeMint,
        program: ADDRESSES.token,
      }),
      transferLamports(wallet.publicKey, native, 2n * SOL),
      syncNative(native),
    ],
    [wallet],
  )

  for (let index = 0; index < EXTRA_ACCOUNT_COUNT; index++) {
    const account = keypair(`extra account ${index}`)
    const extraMint = smallMints[index % SMALL_MINT_COUNT] ?? firstMint
    chain.submit(
      [
        createAccount(signer, account.publicKey, {
          lamports: rentOf(ACCOUNT_BYTES),
          space: ACCOUNT_BYTES,
          owner: ADDRESSES.token,
        }),
        initializeAccount(account.publicKey, extraMint, wallet.publicKey),
        mintTo(
          ADDRESSES.token,
          { mint: extraMint, account: account.publicKey },
          signer,
          BigInt(index + 1),
        ),
      ],
      [payer, account],
    )
  }

  const tokenAccount = deriveTokenAccount(wallet.publicKey, mint, ADDRESSES.token)
  return {
    payer,
    mint,
    holders: holders.slice(0, HOLDER_COUNT - 4),
    samples: {
      payerSecretKey: bs58.encode(payer.secretKey),
      wallet: bs58.encode(wallet.publicKey),
      walletSecretKey: bs58.encode(wallet.secretKey),
      mint: bs58.encode(mint),
      mint2022: bs58.encode(mint2022),
      tokenAccount: bs58.encode(tokenAccount),
      tokenAccount2022: bs58.encode(tokenAccount2022),
      program: bs58.encode(ADDRESSES.token),
      frozen: bs58.encode(frozen),
      delegated: bs58.encode(delegated),
      native: bs58.encode(native),
    },
  }
}

type Gift = {
  readonly mint: Uint8Array
  readonly amount: bigint
  readonly program?: Uint8Array
}
