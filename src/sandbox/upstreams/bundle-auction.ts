import bs58 from 'bs58'
import { type BundleHistoryOptions, BundleHistory } from './bundle-history.js'
import { type CheckedBundle, checkBundle, UNSIGNED } from './bundle-rules.js'
import type { Chain } from '../chain/chain.js'
import { isForged } from '../chain/sent.js'
import { deriveBundleId } from './derive-bundle-id.js'
import { decodeTransaction, type TransactionEncoding } from '../solana/decode-transaction.js'
import type { Failure } from '../http/json-call.js'
import { parseTransaction, TransactionFormatError } from '../solana/parse-transaction.js'
import type { ParsedTransaction } from '../solana/transaction.js'
import { toAddressSet } from './tips.js'

/** Options of the auction. */
export type AuctionOptions = BundleHistoryOptions & {
  readonly tipAddresses: readonly string[]
  readonly tipFloorLamports: bigint
}

/** Encoding and greatest number of a call's transactions. */
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

/** Sends bundles and single transactions to the chain, and records the status of the bundles. */
export class BundleAuction {
  readonly history: BundleHistory
  private readonly chain: Chain
  private readonly tipFloorLamports: bigint
  private readonly tipKeys: readonly Uint8Array[]
  private readonly tipAddresses: ReadonlySet<string>

  constructor(chain: Chain, options: AuctionOptions, now: () => number) {
    this.chain = chain
    this.history = new BundleHistory(chain, options, now)
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

  /** Answers the id even if the bundle does not land: its status says so. */
  submit({ transactions, signatures }: CheckedBundle): string | Failure {
    const id = deriveBundleId(signatures)
    const before = this.tipBalance()
    const sent = this.chain.sendBundle(
      transactions.map(({ bytes }) => bytes),
      () => this.tipBalance() - before >= this.tipFloorLamports,
    )
    if (isForged(sent)) return UNSIGNED
    const slot = sent.landed ? this.chain.slot : undefined
    this.history.add(
      id,
      signatures.map(signature => bs58.encode(signature)),
      slot,
    )
    return id
  }

  /** Sends the single transaction of a call without preflight; answers its signature. */
  sendSingle([text, config]: readonly unknown[], encoding: TransactionEncoding): string | Failure {
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
