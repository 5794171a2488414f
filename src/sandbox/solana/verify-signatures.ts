import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import type { ParsedTransaction } from './transaction.js'

/** DER before the 32 bytes of an ed25519 public key (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

const toKey = (pubkey: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI_PREFIX, pubkey]), format: 'der', type: 'spki' })

/**
 * True if every signature is valid. Node accepts some forged signatures of degenerate keys; the
 * virtual machine verifies again and does not.
 */
export const verifySignatures = ({ signatures, keys, message }: ParsedTransaction): boolean =>
  signatures.every((signature, index) => {
    const key = keys[index]
    return key !== undefined && verify(null, message, toKey(key), signature)
  })
