import { RpcError } from '../../shared/errors.js'
import { API_KEY_PREFIX, Secret } from '../../shared/secret.js'
import { requireAccess, stateOf } from '../accesses/access-manager.js'
import type { AccessJournal } from '../journal/access-journal.js'
import type { AccessStore } from '../store/access-store.js'
import { API_KEY_DAYS_MAX, type ApiKeyRecord, type ApiKeyScope } from '../store/key-shape.js'
import type { AccessDocument } from '../store/tables.js'
import {
  createToken,
  digestToken,
  isApiKeyShaped,
  randomBase62,
  type RandomBytes,
} from '../tokens/location-token.js'

/** The public fields of an API key. */
export type ApiKeyInfo = Omit<ApiKeyRecord, 'digest'>

/** A key to make. */
export type NewApiKey = {
  readonly label: string
  readonly scopes: readonly ApiKeyScope[]
  /** Exclusive; in the future, and within a year. */
  readonly validUntilMs: number
}

/** A key that a request has, as it is stored. */
export type FoundApiKey = { readonly accessId: string; readonly key: ApiKeyRecord }

/**
 * Manages the API keys of accesses. They are a part of the document of their access, so whatever is
 * changed is one write that every machine of a cluster follows. Only their SHA-256 is stored.
 */
export type ApiKeyManager = {
  /** In the order in which they were made, with those that have ended. */
  list(accessId: string): readonly ApiKeyInfo[]
  /** Makes a key; those that have ended give room to it. */
  make(accessId: string, key: NewApiKey): Promise<ApiKeyInfo & { readonly secret: Secret }>
  /** Removes a key. Rejected if there is none. */
  revoke(accessId: string, keyId: string): Promise<void>
  /** The key with this text that has not ended, by the newest commit; undefined: there is none. */
  find(text: string): FoundApiKey | undefined
  /** Stores that a key was used, at most once an hour. Never rejects. */
  noteUse(found: FoundApiKey): Promise<void>
}

/** About 250 bytes each in the document of their access. */
const API_KEYS_MAX = 16
const DAY_MS = 86_400_000
const KEY_ID_CHARS = 12
const TAIL_CHARS = 4

/** The last use is stored at most this often, because each write reaches every machine. */
const USE_GRAIN_MS = 3_600_000
/** Keys of which it is known when their use was last stored. */
const USES_MAX = 16_384

/** Ends a change that has nothing to write. */
class Unchanged extends Error {}

const toInfo = ({ digest: _digest, ...info }: ApiKeyRecord): ApiKeyInfo => info

/** The key of an access, unless it has ended. */
export const findApiKey = (
  { apiKeys = [] }: Pick<AccessDocument, 'apiKeys'>,
  keyId: string,
  nowMs: number,
): ApiKeyRecord | undefined => apiKeys.find(key => key.keyId === keyId && nowMs < key.validUntilMs)

const checkEnd = (validUntilMs: number, nowMs: number): void => {
  if (validUntilMs <= nowMs) throw new RpcError('endPassed')
  if (validUntilMs > nowMs + API_KEY_DAYS_MAX * DAY_MS)
    throw new RpcError('apiKeyEnd', { max: API_KEY_DAYS_MAX })
}

type Parts = {
  /** Where accesses are read. */
  readonly store: AccessStore
  /** Where they are changed. */
  readonly journal: AccessJournal
  readonly randomBytes: RandomBytes
  readonly now: () => number
}

/** Stores when keys were last used. */
const createUseNotes = ({
  journal,
  now,
}: Pick<Parts, 'journal' | 'now'>): ApiKeyManager['noteUse'] => {
  /** When the use of a key was last stored, or that was tried. */
  const noted = new Map<string, number>()
  const isStored = (atMs: number): boolean => now() - atMs < USE_GRAIN_MS

  const remember = (keyId: string): void => {
    noted.delete(keyId)
    noted.set(keyId, now())
    const [oldest] = noted.keys()
    if (noted.size > USES_MAX && oldest !== undefined) noted.delete(oldest)
  }

  return async ({ accessId, key: { keyId, lastUsedMs } }) => {
    if (isStored(lastUsedMs ?? 0) || isStored(noted.get(keyId) ?? 0)) return
    remember(keyId)
    const update = (current: AccessDocument | undefined): AccessDocument => {
      const apiKeys = current?.apiKeys?.map(key =>
        key.keyId === keyId ? Object.assign({}, key, { lastUsedMs: now() }) : key,
      )
      // It was revoked meanwhile.
      if (current === undefined || apiKeys?.some(key => key.keyId === keyId) !== true)
        throw new Unchanged()
      return { ...current, apiKeys }
    }
    // It is only for people: while etcd does not answer it is not stored.
    await journal.propose({ accessId, update }).catch(() => undefined)
  }
}

export const createApiKeyManager = (options: Parts): ApiKeyManager => {
  const { store, journal, randomBytes, now } = options
  const noteUse = createUseNotes(options)
  return {
    list: accessId => store.accesses.get(accessId)?.apiKeys?.map(toInfo) ?? [],
    make: async (accessId, { label, scopes, validUntilMs }) => {
      const text = createToken(randomBytes, API_KEY_PREFIX)
      const key: ApiKeyRecord = {
        keyId: `key_${randomBase62(KEY_ID_CHARS, randomBytes)}`,
        label,
        digest: digestToken(text),
        tail: text.slice(-TAIL_CHARS),
        scopes: [...scopes],
        createdAtMs: now(),
        validUntilMs,
        lastUsedMs: null,
      }
      await journal.propose({
        accessId,
        update: current => {
          const access = requireAccess(current)
          if (stateOf(access, now()) === 'ended') throw new RpcError('accessEnded')
          checkEnd(validUntilMs, now())
          const others = access.apiKeys?.filter(one => now() < one.validUntilMs) ?? []
          if (others.length >= API_KEYS_MAX)
            throw new RpcError('apiKeysFull', { max: API_KEYS_MAX })
          return { ...access, apiKeys: [...others, key] }
        },
      })
      return { ...toInfo(key), secret: new Secret(text) }
    },
    revoke: async (accessId, keyId) => {
      await journal.propose({
        accessId,
        update: current => {
          const access = requireAccess(current)
          const apiKeys = access.apiKeys?.filter(key => key.keyId !== keyId) ?? []
          if (apiKeys.length === (access.apiKeys?.length ?? 0)) throw new RpcError('noSuchApiKey')
          return { ...access, apiKeys }
        },
      })
    },
    find: text => {
      if (!isApiKeyShaped(text)) return undefined
      store.resetRead()
      const at = store.apiKeys()?.get(digestToken(text))
      const access = at && store.accesses.get(at.accessId)
      const key = access && findApiKey(access, at.keyId, now())
      return key && { accessId: at.accessId, key }
    },
    noteUse,
  }
}
