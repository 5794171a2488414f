import { createHash } from 'node:crypto'
import bs58 from 'bs58'

/** The id of a bundle: SHA-256 of its first signatures in base58, comma-separated, as hex. */
export const deriveBundleId = (signatures: readonly Uint8Array[]): string =>
  createHash('sha256')
    .update(signatures.map(signature => bs58.encode(signature)).join(','))
    .digest('hex')
