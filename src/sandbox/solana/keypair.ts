import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'

/** An ed25519 key that can sign. */
export type Keypair = {
  readonly publicKey: Uint8Array
  /** 64 bytes as Solana's tools store them: seed, then public key. */
  readonly secretKey: Uint8Array
  sign(message: Uint8Array): Uint8Array
}

/** DER before the 32 seed bytes of an ed25519 private key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The key of a 32-byte seed. */
export const createKeypair = (seed: Uint8Array): Keypair => {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = new Uint8Array(
    createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32),
  )
  return {
    publicKey,
    secretKey: Buffer.concat([seed, publicKey]),
    sign: message => sign(null, message, key),
  }
}

/** 32 bytes that depend on every part, and on where one part ends and the next begins. */
export const deriveBytes = (...parts: readonly (string | number | Uint8Array)[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = part instanceof Uint8Array ? part : Buffer.from(String(part))
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest()
}

/** What everything in a sandbox is derived from, unless a test says otherwise. */
export const SANDBOX_SEED = 'slotline sandbox'

/** The key that a seed text gives to a name: the same on every start. */
export const deriveKeypair = (seed: string, name: string): Keypair =>
  createKeypair(deriveBytes('keypair', seed, name))
