import { createHash, createPrivateKey, sign } from 'node:crypto'

/** An ed25519 key pair. */
export type Keypair = {
  readonly publicKey: Uint8Array
  /** 64 bytes in the format of Solana's tools: seed, then public key. */
  readonly secretKey: Uint8Array
  sign(message: Uint8Array): Uint8Array
}

/** The key pair of a 32-byte seed. */
export const createKeypair = (seed: Uint8Array): Keypair => {
  // Node.js derives x from d. OpenSSL's decoders of DER take eight times as long.
  const d = Buffer.from(seed).toString('base64url')
  const key = createPrivateKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', d, x: '' } })
  const { x = '' } = key.export({ format: 'jwk' })
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
