import { encodePubkey } from '../../native/encoding.js'
import { decodeBase58 } from '../../native/transactions.js'

/** A keypair: its seed and its public key. */
const KEYPAIR_BYTES = 64
const SEED_BYTES = 32

const keypairOf = (text: string): Uint8Array | undefined => {
  const bytes = decodeBase58(Buffer.from(text), KEYPAIR_BYTES)
  return bytes?.length === KEYPAIR_BYTES ? bytes : undefined
}

/** The seed of a keypair in base58; undefined where the text is none. */
export const seedOf = (keypair: string): Uint8Array | undefined =>
  keypairOf(keypair)?.subarray(0, SEED_BYTES)

/** The public key of a keypair in base58, as base58; undefined where the text is none. */
export const walletOf = (keypair: string): string | undefined => {
  const bytes = keypairOf(keypair)
  return bytes && encodePubkey(bytes.subarray(SEED_BYTES))
}
