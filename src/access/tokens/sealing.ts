import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
} from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { replaceFileDurably } from '../../shared/files/atomic-file.js'
import { readPrivateFile } from '../store/private-file.js'
import type { ControlStore } from '../store/control-store.js'
import type { RandomBytes } from './location-token.js'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Each is tried for a text that the first ones do not unseal. */
const KEYS_MAX = 4

/**
 * The sealing key is missing, wrong or readable by other users. The message says how to fix it, and
 * does not contain the key.
 */
export class SealingKeyError extends Error {
  override readonly name = 'SealingKeyError'
}

/**
 * Encrypts texts with the first key of the key file. Further ones, each on a line, are former keys:
 * what they sealed is still unsealed.
 */
export type Sealing = {
  /**
   * Reads the key file where it has changed, or creates it if the store has no key yet. Throws
   * SealingKeyError, unless keys were read before.
   */
  ready(): Promise<void>
  /**
   * `context` is authenticated: a sealed text that is moved to another record cannot be unsealed.
   * Only after `ready`.
   */
  seal(text: string, context: string): Uint8Array
  /** Only after `ready`. */
  unseal(sealed: Uint8Array, context: string): string
  /** Whether the first key has sealed it. Only after `ready`. */
  isCurrent(sealed: Uint8Array, context: string): boolean
  /** Fingerprints of all keys, the first one first; none before `ready`. */
  keyIds(): readonly string[]
  /** Puts a new key before the others, in the file first. */
  addKey(): Promise<void>
  /** Removes all keys but the first from the file. */
  dropFormerKeys(): Promise<void>
}

type SealingKey = { readonly id: string; readonly key: KeyObject; readonly text: string }

const fingerprint = (key: Uint8Array): string =>
  createHash('sha256').update('slotline sealing key').update(key).digest('hex').slice(0, 16)

const toKey = (text: string): SealingKey => {
  const bytes = Buffer.from(text, 'hex')
  return { id: fingerprint(bytes), key: createSecretKey(bytes), text }
}

const readKeyFile = (path: string): readonly SealingKey[] => {
  const text = readPrivateFile(path)
  if (text === undefined)
    throw new SealingKeyError(`${path} can be read by others; run: chmod 600 ${path}`)
  const lines = text.split(/\s+/, KEYS_MAX + 1)
  if (!lines.every(line => /^[0-9a-f]{64}$/.test(line)))
    throw new SealingKeyError(
      `${path} is not a sealing key (64 hexadecimal characters); restore it from a backup`,
    )
  if (lines.length > KEYS_MAX)
    throw new SealingKeyError(`${path} has more than ${KEYS_MAX} keys; remove the last ones`)
  return lines.map(toKey)
}

/**
 * Fingerprint of the key in a file; undefined before there is one. Throws if it has several: no
 * one of them unseals everything.
 */
export const readSealingKeyId = (path: string): string | undefined => {
  if (!existsSync(path)) return undefined
  const [first, ...former] = readKeyFile(path)
  if (former.length > 0)
    throw new SealingKeyError(
      `${path} has ${former.length + 1} keys: first have everything sealed with the first one, by ` +
        'slotline admin reseal',
    )
  return first?.id
}

/** Throws if the file does not hold the key with this fingerprint. */
export const demandSealingKey = (path: string, keyId: string): void => {
  if (!existsSync(path))
    throw new SealingKeyError(`${path} is missing; put the key with fingerprint ${keyId} there`)
  if (!readKeyFile(path).some(({ id }) => id === keyId))
    throw new SealingKeyError(
      `${path} is not the key of this backup; put the one with fingerprint ${keyId} there`,
    )
}

const writeKeyFile = (path: string, texts: readonly string[]): void =>
  replaceFileDurably(path, `${texts.join('\n')}\n`)

const createKeyText = (randomBytes: RandomBytes): string =>
  Buffer.from(randomBytes(KEY_BYTES)).toString('hex')

/** What the file system says of the key file: another one where it was written. */
const versionOf = (path: string): string => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '' : [found.ino, found.mtimeNs, found.ctimeNs, found.size].join()
}

/** Reads the keys, and records the first one in the store. */
const loadKeys = async (
  path: string,
  store: ControlStore,
  randomBytes: RandomBytes,
): Promise<readonly SealingKey[]> => {
  const expected = store.meta.get('sealing')?.sealingKeyId
  if (!existsSync(path)) {
    if (expected !== undefined)
      throw new SealingKeyError(
        `${path} is missing; restore it from a backup: tokens work without it but cannot be shown`,
      )
    writeKeyFile(path, [createKeyText(randomBytes)])
  }
  const keys = readKeyFile(path)
  const ids = keys.map(({ id }) => id)
  const [first = ''] = ids
  if (expected !== undefined && !ids.includes(expected))
    throw new SealingKeyError(
      `${path} is not the key of this store; restore the one with fingerprint ${expected}`,
    )
  if (expected !== first)
    await store.transaction(() => store.meta.put('sealing', { sealingKeyId: first }))
  return keys
}

const encrypt = ({ key }: SealingKey, nonce: Uint8Array, text: string, context: string): Buffer => {
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Throws if another key, or another context, was used to seal it. */
const decrypt = ({ key }: SealingKey, sealed: Uint8Array, context: string): string => {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const tag = sealed.subarray(sealed.length - TAG_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(tag)
  const text = decipher.update(sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}

/**
 * Sealing with the keys in `keyFile`, which must lie outside the store, so that a copy of the store
 * does not include them. `onError` is told where a changed file cannot be used: the former keys
 * stay in use.
 */
export const createSealing = (
  keyFile: string,
  store: ControlStore,
  randomBytes: RandomBytes,
  onError: (error: unknown) => void = () => {},
): Sealing => {
  let keys: readonly SealingKey[] = []
  let version: string | undefined

  const current = (): SealingKey => {
    const [key] = keys
    if (key === undefined) throw new SealingKeyError('the sealing key was not read')
    return key
  }
  const load = async (): Promise<void> => {
    // Before the file is read: what is written meanwhile is read at the next call.
    const found = versionOf(keyFile)
    keys = await loadKeys(keyFile, store, randomBytes)
    version = found
  }
  const ready = async (): Promise<void> => {
    const found = versionOf(keyFile)
    if (keys.length > 0 && found === version) return
    try {
      await load()
    } catch (error) {
      if (keys.length === 0) throw error
      version = found
      onError(error)
    }
  }
  const write = async (texts: readonly string[]): Promise<void> => {
    writeKeyFile(keyFile, texts)
    await load()
  }

  return {
    ready,
    seal: (text, context) => encrypt(current(), randomBytes(NONCE_BYTES), text, context),
    unseal: (sealed, context) => {
      let failure: unknown
      for (const key of [current(), ...keys.slice(1)])
        try {
          return decrypt(key, sealed, context)
        } catch (error) {
          failure ??= error
        }
      throw failure
    },
    isCurrent: (sealed, context) => {
      try {
        decrypt(current(), sealed, context)
        return true
      } catch {
        return false
      }
    },
    keyIds: () => keys.map(({ id }) => id),
    addKey: async () => {
      await ready()
      const texts = [createKeyText(randomBytes), ...keys.map(({ text }) => text)]
      if (texts.length > KEYS_MAX)
        throw new SealingKeyError(`${keyFile} has ${KEYS_MAX} keys already`)
      await write(texts)
    },
    dropFormerKeys: () => write([current().text]),
  }
}
