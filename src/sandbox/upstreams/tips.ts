import bs58 from 'bs58'
import { ADDRESSES, isSameBytes, toMapKey } from '../solana/addresses.js'
import type { Chain } from '../chain/chain.js'
import { deriveBytes } from '../solana/keypair.js'
import { isWritableStatic, type ParsedTransaction } from '../solana/transaction.js'

/** Tip addresses by receiver. No address is in two classes. */
export type Tips = {
  /** Of the lander routes: ten of the lander, five of the service. */
  readonly lander: readonly string[]
  /** Of the service, on the relay routes. */
  readonly service: readonly string[]
  /** Of the bundle engines. */
  readonly engine: readonly string[]
}

/** As many of each as the real services have. */
const COUNTS = { lander: 15, service: 5, engine: 8 } as const

/** A tip of 1,000 lamports to an account without lamports would fail: it is below the rent. */
const FUNDED_LAMPORTS = 1_000_000_000n

const TRANSFER = 2
const TRANSFER_BYTES = 12

/**
 * The sandbox's own tip addresses, deterministic by seed. Not those of real services: a transaction
 * signed for the sandbox must not pay an account on another cluster. Nothing is sent from them, so
 * that they need no keys.
 */
export const deriveTips = (seed: string): Tips => {
  const addresses = (name: keyof Tips): string[] =>
    Array.from({ length: COUNTS[name] }, (_none, index) =>
      bs58.encode(deriveBytes('tip', seed, name, index)),
    )
  return {
    lander: addresses('lander'),
    service: addresses('service'),
    engine: addresses('engine'),
  }
}

/** Creates the accounts of all classes, so that the smallest tip can be paid. */
export const fundTips = (chain: Chain, tips: Tips): void => {
  for (const address of [...tips.lander, ...tips.service, ...tips.engine])
    chain.load(bs58.decode(address), {
      lamports: FUNDED_LAMPORTS,
      owner: ADDRESSES.system,
      executable: false,
      rentEpoch: 0xffff_ffff_ffff_ffffn,
      data: new Uint8Array(0),
    })
}

/** Addresses as a set of map keys. */
export const toAddressSet = (addresses: readonly string[]): ReadonlySet<string> =>
  new Set(addresses.map(address => toMapKey(bs58.decode(address))))

/** What top-level System transfers of a transaction pay to the addresses, in lamports. */
export const sumTips = (transaction: ParsedTransaction, addresses: ReadonlySet<string>): bigint => {
  const { keys, instructions } = transaction
  let lamports = 0n
  for (const { programIdIndex, accounts, data } of instructions) {
    const program = keys[programIdIndex]
    const to = accounts[1] ?? keys.length
    const target = keys[to]
    if (program === undefined || target === undefined || data.length < TRANSFER_BYTES) continue
    if (!isSameBytes(program, ADDRESSES.system) || !isWritableStatic(transaction, to)) continue
    const view = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    if (view.readUInt32LE(0) !== TRANSFER || !addresses.has(toMapKey(target))) continue
    lamports += view.readBigUInt64LE(4)
  }
  return lamports
}
