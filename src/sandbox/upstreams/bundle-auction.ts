import bs58 from 'bs58'
import { type BundleLedgerOptions, BundleLedger } from './bundle-ledger.js'
import { type CheckedBundle, checkBundle, UNSIGNED } from './bundle-rules.js'
import { type Chain, isForged } from '../chain/chain.js'
import { deriveBundleId } from './derive-bundle-id.js'
import { decodeTransaction, type TransactionEncoding } from '../solana/decode-transaction.js'
import type { Failure } from '../rpc/json-call.js'
import {
  parseTransaction,
  type ParsedTransaction,
  TransactionFormatError,
} from '../solana/parse-transaction.js'
import { toAddressSet } from './tips.js'

/** What an auction goes by. */
export type AuctionOptions = BundleLedgerOptions & {
  readonly tipAddresses: readonly string[]
  readonly tipFloorLamports: bigint
}

/** How the transactions of a call are written, and how many there may be. */
export type BundleForm = { readonly countMax: number; readonly encoding: TransactionEncoding }

const NOT_DECODED: Failure = {
  status: 400,
  code: -32602,
  message: 'transaction #0 could not be decoded',
}
const NOT_SIGNED: Failure = {
  status: 400,
  code: -32003,
  message: 'Transaction signature verification failure',
}
const NO_LIST: Failure = {
  status: 400,
  code: -32602,
  message: 'the first parameter is a list of transactions',
}

/** Takes bundles and single transactions to the chain, and remembers what became of the bundles. */
export class BundleAuction {
  readonly ledger: BundleLedger
  private readonly chain: Chain
  private readonly tipFloorLamports: bigint
  private readonly tipKeys: readonly Uint8Array[]
  private readonly tipAddresses: ReadonlySet<string>

  constructor(chain: Chain, options: AuctionOptions, now: () => number) {
    this.chain = chain
    this.ledger = new BundleLedger(chain, options, now)
    this.tipFloorLamports = options.tipFloorLamports
    this.tipKeys = options.tipAddresses.map(address => bs58.decode(address))
    this.tipAddresses = toAddressSet(options.tipAddresses)
  }

  /** The bundle in a call's first two parameters. */
  check([texts, config]: readonly unknown[], form: BundleForm): CheckedBundle | Failure {
    const { chain, tipAddresses } = this
    const { countMax, encoding } = form
    if (!Array.isArray(texts)) return NO_LIST
    const members = texts
      .slice(0, countMax + 1)
      .map((text: unknown) => decodeTransaction(text, config, encoding))
    return checkBundle(members, { chain, tipAddresses, countMax })
  }

  /** Its id comes back also where it does not land: the statuses tell. */
  submit({ transactions, signatures }: CheckedBundle): string | Failure {
    const id = deriveBundleId(signatures)
    const before = this.tipBalance()
    const sent = this.chain.sendBundle(
      transactions.map(({ bytes }) => bytes),
      () => this.tipBalance() - before >= this.tipFloorLamports,
    )
    if (isForged(sent)) return UNSIGNED
    const slot = sent.landed ? this.chain.slot : undefined
    this.ledger.add(
      id,
      signatures.map(signature => bs58.encode(signature)),
      slot,
    )
    return id
  }

  /** Sends the transaction of a call by itself, preflight skipped; its signature. */
  sendAlone([text, config]: readonly unknown[], encoding: TransactionEncoding): string | Failure {
    const bytes = decodeTransaction(text, config, encoding)
    if (bytes === undefined) return NOT_DECODED
    let transaction: ParsedTransaction
    try {
      transaction = parseTransaction(bytes)
    } catch (error) {
      if (error instanceof TransactionFormatError) return NOT_DECODED
      throw error
    }
    const [signature] = transaction.signatures
    if (signature === undefined || isForged(this.chain.send(bytes))) return NOT_SIGNED
    return bs58.encode(signature)
  }

  private tipBalance(): bigint {
    return this.tipKeys.reduce((sum, key) => sum + this.chain.lamports(key), 0n)
  }
}
