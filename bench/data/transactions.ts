import { createHash, createPrivateKey, sign, type KeyObject } from 'node:crypto'
import bs58 from 'bs58'

/** Addresses that transactions of the benchmarks pay to; their keys do not exist. */
const addressOf = (name: string): Buffer => createHash('sha256').update(name).digest()
export const LANDER_TIP = addressOf('slotline bench lander tip')
export const SERVICE_TIP = addressOf('slotline bench service tip')
export const ENGINE_TIP = addressOf('slotline bench engine tip')
const PROGRAM = addressOf('slotline bench program')
const SYSTEM = Buffer.alloc(32)

/** The least tip of a lander, which is more than the floors of a relay. */
const TIP_LAMPORTS = 1_000_000n
const TRANSFER = 2

/** PKCS #8 of an Ed25519 key, before its 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

const keyOf = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })

const publicKeyOf = (key: KeyObject): Buffer =>
  Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')

/** A signed transaction: its bytes, its text, its first signature. */
export type Signed = {
  readonly bytes: Buffer
  readonly base64: string
  readonly signature: string
}

/**
 * The nth transaction: one signer, three tips and one instruction of an application. Legacy layout,
 * about 500 bytes, the size of a simple swap without lookup tables.
 */
export const signTransaction = (nth: number): Signed => {
  const seed = createHash('sha256').update(`slotline bench payer ${nth}`).digest()
  const key = keyOf(seed)
  const tips = [LANDER_TIP, SERVICE_TIP, ENGINE_TIP]
  const own = addressOf(`slotline bench account ${nth}`)
  const keys = [publicKeyOf(key), ...tips, own, SYSTEM, PROGRAM]
  const transfer = Buffer.alloc(12)
  transfer.writeUInt32LE(TRANSFER)
  transfer.writeBigUInt64LE(TIP_LAMPORTS, 4)
  const instruction = (program: number, accounts: readonly number[], data: Buffer): Buffer =>
    Buffer.concat([Buffer.from([program, accounts.length, ...accounts, data.length]), data])
  const instructions = [
    ...tips.map((_, index) => instruction(keys.indexOf(SYSTEM), [0, index + 1], transfer)),
    instruction(keys.indexOf(PROGRAM), [keys.indexOf(own)], addressOf('data')),
  ]
  const message = Buffer.concat([
    // One signer; the two programs are read only.
    Buffer.from([1, 0, 2, keys.length]),
    ...keys,
    addressOf('slotline bench blockhash'),
    Buffer.from([instructions.length]),
    ...instructions,
  ])
  const signature = sign(null, message, key)
  const bytes = Buffer.concat([Buffer.from([1]), signature, message])
  return { bytes, base64: bytes.toString('base64'), signature: bs58.encode(signature) }
}

/** The body of a lander's batch. */
export const encodeBatch = (transactions: readonly Signed[]): Buffer =>
  Buffer.concat(
    transactions.flatMap(({ bytes }) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(bytes.length)
      return [length, bytes]
    }),
  )
