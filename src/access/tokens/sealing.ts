import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { replaceFileDurably } from '../../shared/atomic-file.js'
import { readPrivateFile } from '../store/private-file.js'
import type { ControlStore } from '../store/control-store.js'
import type { RandomBytes } from './location-token.js'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * The sealing key is missing, wrong or readable by other users. The message says how to fix it, and
 * does not contain the key.
 */
export class SealingKeyError extends Error {
  override readonly name = 'SealingKeyError'
}

/** Encrypts texts with the key of the key file. */
export type Sealing = {
  /** Reads the key file, or creates it if the store has no key yet. Throws SealingKeyError. */
  ready(): Promise<void>
  /**
   * `context` is authenticated: a sealed text that is moved to another record cannot be unsealed.
   * Only after `ready`.
   */
  seal(text: string, context: string): Uint8Array
  /** Only after `ready`. */
  unseal(sealed: Uint8Array, context: string): string
}

const fingerprint = (key: Uint8Array): string =>
  createHash('sha256').update('slotline sealing key').update(key).digest('hex').slice(0, 16)

const readKeyFile = (path: string): Uint8Array => {
  const text = readPrivateFile(path)
  if (text === undefined)
    throw new SealingKeyError(`${path} can be read by others; run: chmod 600 ${path}`)
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new SealingKeyError(
      `${path} is not a sealing key (64 hexadecimal characters); restore it from a backup`,
    )
  return Buffer.from(text, 'hex')
}

/** Fingerprint of the key in a file; undefined before there is one. */
export const readSealingKeyId = (path: string): string | undefined =>
  existsSync(path) ? fingerprint(readKeyFile(path)) : undefined

/** Throws where the file does not hold the key with this fingerprint. */
export const demandSealingKey = (path: string, keyId: string): void => {
  if (!existsSync(path))
    throw new SealingKeyError(`${path} is missing; put the key with fingerprint ${keyId} there`)
  if (fingerprint(readKeyFile(path)) !== keyId)
    throw new SealingKeyError(
      `${path} is not the key of this backup; put the one with fingerprint ${keyId} there`,
    )
}

const loadKey = async (
  path: string,
  store: ControlStore,
  randomBytes: RandomBytes,
): Promise<KeyObject> => {
  const expected = store.meta.get('sealing')?.sealingKeyId
  if (!existsSync(path)) {
    if (expected !== undefined)
      throw new SealingKeyError(
        `${path} is missing; restore it from a backup: tokens work without it but cannot be shown`,
      )
    replaceFileDurably(path, `${Buffer.from(randomBytes(KEY_BYTES)).toString('hex')}\n`)
  }
  const key = readKeyFile(path)
  const keyId = fingerprint(key)
  if (expected === undefined)
    await store.transaction(() => store.meta.put('sealing', { sealingKeyId: keyId }))
  else if (expected !== keyId)
    throw new SealingKeyError(
      `${path} is not the key of this store; restore the one with fingerprint ${expected}`,
    )
  return createSecretKey(key)
}

/**
 * Sealing with the key in `keyFile`, which must lie outside the store, so that a copy of the store
 * does not include it.
 */
export const createSealing = (
  keyFile: string,
  store: ControlStore,
  randomBytes: RandomBytes,
): Sealing => {
  let key: KeyObject | undefined
  const loaded = (): KeyObject => {
    if (key === undefined) throw new SealingKeyError('the sealing key was not read')
    return key
  }
  return {
    ready: async () => {
      key ??= await loadKey(keyFile, store, randomBytes)
    },
    seal: (text, context) => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, loaded(), nonce).setAAD(Buffer.from(context))
      return Buffer.concat([
        nonce,
        cipher.update(text, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ])
    },
    unseal: (sealed, context) => {
      const nonce = sealed.subarray(0, NONCE_BYTES)
      const tag = sealed.subarray(sealed.length - TAG_BYTES)
      const options = { authTagLength: TAG_BYTES }
      const decipher = createDecipheriv(CIPHER, loaded(), nonce, options)
        .setAAD(Buffer.from(context))
        .setAuthTag(tag)
      const text = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES))
      return Buffer.concat([text, decipher.final()]).toString('utf8')
    },
  }
}
