import { RpcError } from '../../shared/errors.js'
import { Secret } from '../../shared/secret.js'
import { requireAccess, stateOf } from '../accesses/access-manager.js'
import { parseRestriction } from './restriction.js'
import type { Sealing } from './sealing.js'
import type { AccessStore } from '../store/store.js'
import { tokenKey, type TokenScope, type TokenRecord } from '../store/tables.js'
import { createToken, digestToken, randomBase62, type RandomBytes } from './location-token.js'

/** The public fields of a location token. */
export type TokenInfo = TokenScope & {
  readonly tokenId: string
  /** The token's last characters. */
  readonly tail: string
  readonly createdAtMs: number
  readonly address: string | undefined
}

/**
 * The state machine of tokens (contract: token-lifecycle): a scope has one active token or none. A
 * change is on disk when its promise resolves; edges learn of it when the caller then raises
 * `accessVersion`.
 */
export type TokenManager = {
  /** No token → Active. Rejected if the scope has a token, or its access is not active. */
  generate(scope: TokenScope): Promise<NewToken>
  /**
   * Active → Active with a new secret; the restriction stays. Rejected if the scope has no token,
   * or its access is not active.
   */
  regenerate(scope: TokenScope): Promise<NewToken>
  /** Active → No token. Removes its restriction too. Works also for an ended access. */
  revoke(scope: TokenScope): Promise<void>
  /**
   * Restricts the token to one public IPv4 address; a blank text removes the restriction. Rejects
   * any other text with an RpcError.
   */
  restrict(scope: TokenScope, address: string): Promise<TokenInfo>
  /** The secret of the token; undefined if the scope has none. */
  reveal(scope: TokenScope): Promise<Secret | undefined>
  /** The active tokens of one access, by network and location. */
  list(accessId: string): readonly TokenInfo[]
}

/** A new token with its secret. */
export type NewToken = TokenInfo & { readonly token: Secret }

const TOKEN_ID_CHARS = 12
const TAIL_CHARS = 4

const toInfo = (scope: TokenScope, record: TokenRecord): TokenInfo => ({
  accessId: scope.accessId,
  network: scope.network,
  location: scope.location,
  tokenId: record.tokenId,
  tail: record.tail,
  createdAtMs: record.createdAtMs,
  address: record.address ?? undefined,
})

// NUL is not allowed in ids, so no two scopes share a context.
const sealContext = (scope: TokenScope, tokenId: string): string =>
  [...tokenKey(scope), tokenId].join('\0')

/** The token of a scope; throws an RpcError if there is none. */
const findToken = (store: AccessStore, scope: TokenScope): TokenRecord => {
  requireAccess(store, scope)
  const record = store.tokens.get(tokenKey(scope))
  if (record === undefined) throw new RpcError('noToken')
  return record
}

const requireActive = (store: AccessStore, scope: TokenScope, nowMs: number): void => {
  const state = stateOf(requireAccess(store, scope), nowMs)
  if (state === 'ended') throw new RpcError('accessEnded')
  if (state === 'upcoming') throw new RpcError('accessUpcoming')
}

export const createTokenManager = (options: {
  readonly store: AccessStore
  readonly sealing: Sealing
  readonly randomBytes: RandomBytes
  readonly now: () => number
}): TokenManager => {
  const { store, sealing, randomBytes, now } = options

  /** Writes both records of a token. */
  const write = (scope: TokenScope, record: TokenRecord): TokenInfo => {
    const { accessId, network, location } = scope
    const { tokenId, address } = record
    store.tokens.put(tokenKey(scope), record)
    store.digests.put(record.digest, { tokenId, accessId, network, location, address })
    return toInfo(scope, record)
  }

  const put = (scope: TokenScope, text: string, address: string | null): TokenInfo => {
    const tokenId = `tok_${randomBase62(TOKEN_ID_CHARS, randomBytes)}`
    return write(scope, {
      tokenId,
      digest: digestToken(text),
      sealed: sealing.seal(text, sealContext(scope, tokenId)),
      tail: text.slice(-TAIL_CHARS),
      createdAtMs: now(),
      address,
    })
  }

  const create = async (
    scope: TokenScope,
    change: (text: string) => TokenInfo,
  ): Promise<NewToken> => {
    await sealing.ready()
    const text = createToken(randomBytes)
    const info = await store.transaction(() => {
      requireActive(store, scope, now())
      return change(text)
    })
    return { ...info, token: new Secret(text) }
  }

  return {
    generate: scope =>
      create(scope, text => {
        if (store.tokens.get(tokenKey(scope)) !== undefined) throw new RpcError('tokenActive')
        return put(scope, text, null)
      }),
    regenerate: scope =>
      create(scope, text => {
        const { digest, address } = findToken(store, scope)
        store.digests.remove(digest)
        return put(scope, text, address)
      }),
    revoke: scope =>
      store.transaction(() => {
        store.digests.remove(findToken(store, scope).digest)
        store.tokens.remove(tokenKey(scope))
      }),
    restrict: async (scope, text) => {
      const address = parseRestriction(text) ?? null
      return store.transaction(() => write(scope, { ...findToken(store, scope), address }))
    },
    reveal: async scope => {
      const record = store.tokens.get(tokenKey(scope))
      if (record === undefined) return undefined
      await sealing.ready()
      return new Secret(sealing.unseal(record.sealed, sealContext(scope, record.tokenId)))
    },
    list: accessId => {
      const tokens: TokenInfo[] = []
      for (const [[owner, network, location], record] of store.tokens.from([accessId, '', ''])) {
        if (owner !== accessId) break
        tokens.push(toInfo({ accessId, network, location }, record))
      }
      return tokens
    },
  }
}
