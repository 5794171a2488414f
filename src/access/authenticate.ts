import type { Grant } from '../shared/grant.js'
import { Decoys } from './decoys.js'
import { endOf } from './accesses/access-manager.js'
import type { AccessStore } from './store/store.js'
import { digestToken, isTokenShaped } from './tokens/location-token.js'
import type { RefusalReason } from './usage/layout.js'

export type Options = Readonly<typeof defaults>

/** Bounds of the authentication of one edge. */
export const defaults = {
  /**
   * Tokens kept ready, about 300 bytes each. One more and the oldest is looked up again at its next
   * use.
   */
  grantsMax: 65_536,
}

/**
 * 401: no such token at this location. 403: a known one, but not from this address or not at this
 * time.
 */
export type Refusal = 'unauthorized' | 'forbidden'

/** Says what a token opens at one location, now. Positional, because it runs once per request. */
export type Authenticate = (
  token: string,
  location: string,
  peer: Peer,
  nowMs: number,
) => Grant | Refusal

/**
 * Who asks. The address is read only where the token is restricted to one: it costs more than the
 * rest.
 */
export type Peer = { readonly address: string }

/**
 * Told of every refusal of what could be a token: whose it was, where there is such a token. The
 * time it takes must not depend on that.
 */
export type OnRefused = (
  reason: RefusalReason,
  tokenId: string | undefined,
  address: string,
  nowMs: number,
) => void

const holds = (grant: Grant, peer: Peer, nowMs: number): boolean =>
  nowMs >= grant.validFromMs &&
  nowMs < grant.validUntilMs &&
  (grant.address === undefined || grant.address === peer.address)

const reasonOf = (grant: Grant | undefined, location: string, nowMs: number): RefusalReason => {
  if (grant === undefined) return 'unknown'
  if (grant.location !== location) return 'location'
  if (nowMs < grant.validFromMs) return 'early'
  return nowMs >= grant.validUntilMs ? 'ended' : 'address'
}

const DIGEST_BYTES = 32

/** A digest and an access that no token has: decoded where there is none. */
const NOBODY = { tokenId: '-', accessId: '-', network: '-', location: '-', address: null }
const NO_ACCESS = {
  accessId: '-',
  subject: '',
  kind: 'pass' as const,
  product: '',
  networks: ['-'],
  locations: ['-'],
  limits: {
    requestsPerSecondMax: 0,
    requestsBurstMax: 0,
    requestsInFlightMax: 0,
    socketsMax: 0,
    subscriptionsPerSocketMax: 0,
  },
  createdAtMs: 0,
  validFromMs: 0,
  validUntilMs: 0,
  endedAtMs: 0,
}

/**
 * Authentication of one edge. `version` reads `accessVersion` in shared memory: as long as it
 * stands, a token once seen is answered from memory; when it moved, all that is forgotten, and the
 * store is read anew.
 */
export const createAuthenticate = (
  store: AccessStore,
  version: () => number,
  options: Options = defaults,
  onRefused: OnRefused = () => {},
): Authenticate => {
  const { grantsMax } = options
  const nobody = store.digests.encode(NOBODY)
  const noAccess = store.accesses.encode(NO_ACCESS)
  const grants = new Map<string, Grant>()
  let seenVersion = Number.NaN

  const decoys = new Decoys(store)
  const missing = Buffer.alloc(DIGEST_BYTES)

  /**
   * The same work whether the token is known or not, so that the time of a refusal tells nothing:
   * one digest that is there, one that is not, and an access. Only to decode less for unknown ones
   * would be a third of the time.
   */
  const lookUp = (token: string): Grant | undefined => {
    const key = digestToken(token)
    const found = store.digests.getBytes(key)
    missing.set(key)
    missing[0] = (key[0] ?? 0) ^ 0x80
    const other = found === undefined ? decoys.next() : missing
    const decoy = other && store.digests.getBytes(other)
    const digest = store.digests.decode(found ?? decoy ?? nobody)
    const access = store.accesses.decode(store.accesses.getBytes(digest.accessId) ?? noAccess)
    const grant = Object.freeze({
      accessId: digest.accessId,
      tokenId: digest.tokenId,
      network: digest.network,
      location: digest.location,
      limits: Object.freeze(access.limits),
      validFromMs: access.validFromMs,
      // Ended by hand is ended at any time of a clock that may be set back.
      validUntilMs: access.endedAtMs === null ? endOf(access) : 0,
      address: digest.address ?? undefined,
    })
    return found === undefined ? undefined : grant
  }

  let lastToken = ''
  let lastGrant: Grant | undefined

  const keep = (token: string, grant: Grant): void => {
    const oldest = grants.keys().next()
    if (grants.size >= grantsMax && oldest.done === false) {
      grants.delete(oldest.value)
      if (oldest.value === lastToken) lastToken = ''
    }
    grants.set(token, grant)
  }

  const refuse = (
    reason: RefusalReason,
    grant: Grant | undefined,
    address: string,
    nowMs: number,
  ): Refusal => {
    onRefused(reason, grant?.tokenId, address, nowMs)
    return reason === 'unknown' || reason === 'location' ? 'unauthorized' : 'forbidden'
  }

  return (token, location, peer, nowMs) => {
    const current = version()
    if (current !== seenVersion) {
      // Read before the look-up: a change that comes after this line raises it once more.
      seenVersion = current
      grants.clear()
      lastToken = ''
      decoys.forget()
      store.resetRead()
    }
    // A busy client comes again at once: comparing two texts costs less than hashing a new one.
    const known = token === lastToken ? lastGrant : grants.get(token)
    if (known !== undefined && known.location === location && holds(known, peer, nowMs)) {
      lastToken = token
      lastGrant = known
      return known
    }

    if (!isTokenShaped(token)) return 'unauthorized'
    const grant = lookUp(token)
    if (grant === undefined || grant.location !== location || !holds(grant, peer, nowMs)) {
      // Read for every refusal: it costs more than the look-up, and would tell those apart that
      // need it.
      const { address } = peer
      return refuse(reasonOf(grant, location, nowMs), grant, address, nowMs)
    }
    // Only what opened something is kept: a flood of refusals must not fill memory nor push out
    // what is in use.
    keep(token, grant)
    return grant
  }
}
