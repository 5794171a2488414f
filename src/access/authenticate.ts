import type { ErrorName } from '../shared/errors.js'
import type { Grant } from '../shared/grant.js'
import { endOf } from './accesses/access-manager.js'
import type { AccessStore } from './store/access-store.js'
import { findToken } from './store/tables.js'
import { findOverlapping, isKept } from './tokens/former-tokens.js'
import { digestToken, isTokenShaped } from './tokens/location-token.js'
import type { RefusalReason } from '../usage/calls.js'
import type { TokenScope } from '../usage/scope.js'

export type Options = Readonly<typeof defaults>

/** Bounds of the authentication of one edge. */
export const defaults = {
  /** Tokens cached in memory, about 300 bytes each. A full cache evicts the oldest. */
  grantsMax: 65_536,
}

/**
 * The error of each reason for which a token is refused. 401: no such token at this location, also
 * of one that could not be a token. 403: a known one, but not from this address or not at this
 * time. 503: it is not known whether the store is current.
 */
export const REFUSAL_ERRORS = {
  malformed: 'unauthorized',
  unknown: 'unauthorized',
  location: 'unauthorized',
  replaced: 'unauthorized',
  address: 'forbidden',
  early: 'forbidden',
  ended: 'forbidden',
  leaseExpired: 'leaseExpired',
} as const satisfies Record<RefusalReason | 'malformed' | 'leaseExpired', ErrorName>

/** The errors of refused tokens. */
export type RefusalError = (typeof REFUSAL_ERRORS)[keyof typeof REFUSAL_ERRORS]

/** Why a token is refused, and what is known of it. */
export type Refusal = {
  readonly reason: keyof typeof REFUSAL_ERRORS
  readonly scope?: TokenScope
  /** The last characters of a token that was regenerated or revoked. */
  readonly formerTail?: string
}

export const isRefusal = (answer: Grant | Refusal): answer is Refusal => 'reason' in answer

/**
 * Finds what a token grants at one location. Takes positional parameters, because it runs once per
 * request.
 */
export type Authenticate = (
  token: string,
  location: string,
  peer: Peer,
  nowMs: number,
) => Grant | Refusal

/**
 * The client. Its address is only read for restricted tokens and refusals: formatting it costs more
 * than the rest.
 */
export type Peer = { readonly address: string }

const permits = (grant: Grant, peer: Peer, nowMs: number): boolean =>
  nowMs >= grant.validFromMs &&
  nowMs < grant.validUntilMs &&
  (grant.address === undefined || grant.address === peer.address)

const reasonOf = (grant: Grant, location: string, nowMs: number): RefusalReason => {
  if (grant.location !== location) return 'location'
  if (nowMs < grant.validFromMs) return 'early'
  return nowMs >= grant.validUntilMs ? 'ended' : 'address'
}

const MALFORMED: Refusal = { reason: 'malformed' }
const UNKNOWN: Refusal = { reason: 'unknown' }
const LEASE_EXPIRED: Refusal = { reason: 'leaseExpired' }

/** What the index has of a token. */
type Indexed = NonNullable<ReturnType<AccessStore['digests']['get']>>

/** What a token grants, also one that was regenerated and has not ended yet. */
const toGrant = (
  store: AccessStore,
  digest: Buffer,
  indexed: Indexed,
  nowMs: number,
): Grant | undefined => {
  if (indexed.former !== undefined && nowMs >= indexed.former.endedAtMs) return undefined
  const access = store.accesses.get(indexed.accessId)
  if (access === undefined) return undefined
  const record = findToken(access, indexed)
  if (record === undefined) return undefined
  const former = indexed.former && findOverlapping(access, indexed, nowMs)
  const { tokenId = record.tokenId, digest: own } = former ?? record
  // The index only finds the access, which decides.
  if (!digest.equals(own)) return undefined
  return Object.freeze({
    accessId: access.accessId,
    tokenId,
    network: record.network,
    location: record.location,
    limits: Object.freeze(access.limits),
    validFromMs: access.validFromMs,
    // An access that was ended manually stays ended, also after the clock was set back.
    validUntilMs:
      access.endedAtMs === null ? Math.min(endOf(access), former?.endedAtMs ?? Infinity) : 0,
    address: record.address ?? undefined,
    paramsUntilMs: access.paramsUntilMs,
  })
}

/** Why a token that the index has or lacks is refused. */
const toRefusal = (
  indexed: Indexed | undefined,
  grant: Grant | undefined,
  location: string,
  nowMs: number,
): Refusal => {
  if (grant !== undefined) return { reason: reasonOf(grant, location, nowMs), scope: grant }
  const former = indexed?.former
  if (indexed === undefined || former === undefined || !isKept(former.endedAtMs, nowMs))
    return UNKNOWN
  return { reason: 'replaced', scope: indexed, formerTail: former.tail }
}

/** Grants by token, for one value of the access version. */
class GrantCache {
  readonly #grants = new Map<string, Grant>()
  readonly #grantsMax: number
  #lastToken = ''
  #lastGrant: Grant | undefined

  constructor(grantsMax: number) {
    this.#grantsMax = grantsMax
  }

  get(token: string): Grant | undefined {
    // A busy client sends its next request at once: comparing two strings costs less than hashing a
    // new one.
    if (token === this.#lastToken) return this.#lastGrant
    const grant = this.#grants.get(token)
    if (grant !== undefined) {
      this.#lastToken = token
      this.#lastGrant = grant
    }
    return grant
  }

  set(token: string, grant: Grant): void {
    const oldest = this.#grants.keys().next()
    if (this.#grants.size >= this.#grantsMax && oldest.done === false) {
      this.#grants.delete(oldest.value)
    }
    this.#grants.set(token, grant)
    this.#lastToken = token
    this.#lastGrant = grant
  }

  clear(): void {
    this.#grants.clear()
    this.#lastToken = ''
  }
}

/**
 * Authentication of one edge. `version` reads `accessVersion` from shared memory: while it is
 * unchanged, known tokens are answered from memory; after a change the cache is dropped and the
 * store is read again. While it is NaN, the lease of the machine has expired.
 */
export const createAuthenticate = (
  store: AccessStore,
  version: () => number,
  { grantsMax }: Options = defaults,
): Authenticate => {
  const cache = new GrantCache(grantsMax)
  let seenVersion = Number.NaN

  return (token, location, peer, nowMs) => {
    const current = version()
    if (Number.isNaN(current)) return LEASE_EXPIRED
    if (current !== seenVersion) {
      // Stored before the store is read: a change after this line raises the version again.
      seenVersion = current
      cache.clear()
      store.resetRead()
    }
    const known = cache.get(token)
    if (known !== undefined && known.location === location && permits(known, peer, nowMs))
      return known

    if (!isTokenShaped(token)) return MALFORMED
    const digest = digestToken(token)
    const indexed = store.digests.get(digest)
    const grant = indexed && toGrant(store, digest, indexed, nowMs)
    if (grant !== undefined && grant.location === location && permits(grant, peer, nowMs)) {
      // Only accepted tokens are cached: a flood of refusals must not evict tokens in use.
      cache.set(token, grant)
      return grant
    }
    return toRefusal(indexed, grant, location, nowMs)
  }
}
