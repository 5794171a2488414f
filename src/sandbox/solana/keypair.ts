import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'

/** An ed25519 key pair. */
export type Keypair = {
  readonly publicKey: Uint8Array
  /** 64 bytes in the format of Solana's tools: seed, then public key. */
  readonly secretKey: Uint8Array
  sign(message: Uint8Array): Uint8Array
}

/** DER before the 32 seed bytes of an ed25519 private key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The key pair of a 32-byte seed. */
export const createKeypair = (seed: Uint8Array): Keypair => {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  const publicKey = new Uint8Array(Buffer.from(x, 'base64url'))
  return {
    publicKey,
    secretKey: Buffer.concat([seed, publicKey]),
    sign: message => sign(null, message, key),
  }
}

/** Hashes parts with their lengths to 32 bytes. */
export const deriveBytes = (...parts: readonly (string | number | Uint8Array)[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = part instanceof Uint8Array ? part : Buffer.from(String(part))
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest()
}

/** The default seed of a sandbox. */
export const SANDBOX_SEED = 'slotline sandbox'

/** The key pair of a name, deterministic by seed. */
export const deriveKeypair = (seed: string, name: string): Keypair =>
  createKeypair(deriveBytes('keypair', seed, name))
