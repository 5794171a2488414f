import { RpcError } from '../../shared/errors.js'
import { Secret } from '../../shared/secret.js'
import { requireScope, stateOf } from '../accesses/access-manager.js'
import type { AccessJournal } from '../journal/access-journal.js'
import {
  findOverlapping,
  OVERLAP_MAX_MS,
  withFormerTokens,
  withoutOverlap,
} from './former-tokens.js'
import { parseRestriction } from './restriction.js'
import { tokenContext } from './sealed-parts.js'
import type { Sealing } from './sealing.js'
import type { AccessStore } from '../store/access-store.js'
import {
  findToken,
  type AccessDocument,
  type TokenRecord,
  type TokenScope,
} from '../store/tables.js'
import { createToken, digestToken, randomBase62, type RandomBytes } from './location-token.js'

/** The public fields of a location token. */
export type TokenInfo = TokenScope & {
  readonly tokenId: string
  /** The token's last characters. */
  readonly tail: string
  readonly createdAtMs: number
  readonly address: string | undefined
  /** The former token of the scope that still works, and when it ends. */
  readonly former?: { readonly tail: string; readonly endsAtMs: number }
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
   * or its access is not active. The former token works for `overlapMs` longer, within the same
   * restriction; one that worked beside it ends at once.
   */
  regenerate(scope: TokenScope, overlapMs?: number): Promise<NewToken>
  /** Ends the former token that still works. Rejected if there is none. */
  endFormer(scope: TokenScope): Promise<TokenInfo>
  /**
   * Active → No token. Removes its restriction too, and ends a former token that still works. Works
   * also for an ended access.
   */
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

const toInfo = (access: AccessDocument, record: TokenRecord, nowMs: number): TokenInfo => {
  const former = findOverlapping(access, record, nowMs)
  return {
    accessId: access.accessId,
    network: record.network,
    location: record.location,
    tokenId: record.tokenId,
    tail: record.tail,
    createdAtMs: record.createdAtMs,
    address: record.address ?? undefined,
    ...(former !== undefined && { former: { tail: former.tail, endsAtMs: former.endedAtMs } }),
  }
}

/** The token of a scope; throws an RpcError if there is none. */
const requireToken = (access: AccessDocument, scope: TokenScope): TokenRecord => {
  const record = findToken(access, scope)
  if (record === undefined) throw new RpcError('noToken')
  return record
}

const requireActive = (access: AccessDocument, nowMs: number): void => {
  const state = stateOf(access, nowMs)
  if (state === 'ended') throw new RpcError('accessEnded')
  if (state === 'upcoming') throw new RpcError('accessUpcoming')
}

const byScope = (a: TokenRecord, b: TokenRecord): number => {
  if (a.network !== b.network) return a.network < b.network ? -1 : 1
  return a.location < b.location ? -1 : 1
}

/** The access with this token, or none, in place of the one of the scope. */
const withToken = (
  access: AccessDocument,
  scope: TokenScope,
  record: TokenRecord | undefined,
): AccessDocument => {
  const former = findToken(access, scope)
  const others = access.tokens.filter(token => token !== former)
  const tokens = record === undefined ? others : [...others, record].toSorted(byScope)
  return { ...access, tokens }
}

type Parts = {
  /** Where tokens are read. */
  readonly store: AccessStore
  /** Where they are changed. */
  readonly journal: AccessJournal
  readonly sealing: Sealing
  readonly randomBytes: RandomBytes
  readonly now: () => number
}

/** Ends the former token of a scope that still works. */
const endFormer = async (
  { journal, now }: Pick<Parts, 'journal' | 'now'>,
  scope: TokenScope,
): Promise<TokenInfo> => {
  const changed = await journal.propose({
    accessId: scope.accessId,
    update: current => {
      const access = requireScope(current, scope)
      if (findOverlapping(access, scope, now()) === undefined) throw new RpcError('noToken')
      return withoutOverlap(access, scope, now())
    },
  })
  return toInfo(changed, requireToken(changed, scope), now())
}

export const createTokenManager = (options: Parts): TokenManager => {
  const { store, journal, sealing, randomBytes, now } = options

  const change = (
    scope: TokenScope,
    toRecord: (access: AccessDocument) => TokenRecord | undefined,
    overlapMs = 0,
  ): Promise<AccessDocument> =>
    journal.propose({
      accessId: scope.accessId,
      update: current => {
        const access = requireScope(current, scope)
        const nowMs = now()
        const changed = withToken(access, scope, toRecord(access))
        return withFormerTokens(access, changed, nowMs, nowMs + overlapMs)
      },
    })

  const create = async (
    scope: TokenScope,
    toAddress: (access: AccessDocument) => string | null,
    overlapMs = 0,
  ): Promise<NewToken> => {
    await sealing.ready()
    const text = createToken(randomBytes)
    const tokenId = `tok_${randomBase62(TOKEN_ID_CHARS, randomBytes)}`
    const { network, location } = scope
    const access = await change(
      scope,
      current => {
        requireActive(current, now())
        const address = toAddress(current)
        return {
          network,
          location,
          tokenId,
          digest: digestToken(text),
          sealed: sealing.seal(text, tokenContext(scope, tokenId)),
          tail: text.slice(-TAIL_CHARS),
          createdAtMs: now(),
          address,
        }
      },
      overlapMs,
    )
    return { ...toInfo(access, requireToken(access, scope), now()), token: new Secret(text) }
  }

  return {
    generate: scope =>
      create(scope, access => {
        if (findToken(access, scope) !== undefined) throw new RpcError('tokenActive')
        return null
      }),
    regenerate: (scope, overlapMs = 0) => {
      const bounded = Math.min(Math.max(0, overlapMs), OVERLAP_MAX_MS)
      return create(scope, access => requireToken(access, scope).address, bounded)
    },
    endFormer: scope => endFormer(options, scope),
    revoke: async scope => {
      await change(scope, access => {
        requireToken(access, scope)
        return undefined
      })
    },
    restrict: async (scope, text) => {
      const address = parseRestriction(text) ?? null
      const access = await change(scope, current => ({ ...requireToken(current, scope), address }))
      return toInfo(access, requireToken(access, scope), now())
    },
    reveal: async scope => {
      const access = store.accesses.get(scope.accessId)
      const record = access && findToken(access, scope)
      if (record === undefined) return undefined
      await sealing.ready()
      return new Secret(sealing.unseal(record.sealed, tokenContext(scope, record.tokenId)))
    },
    list: accessId => {
      const access = store.accesses.get(accessId)
      return access?.tokens.map(record => toInfo(access, record, now())) ?? []
    },
  }
}
