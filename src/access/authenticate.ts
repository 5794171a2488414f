import type { Grant } from '../shared/grant.js'
import { endOf } from './entitlement.js'
import type { AccessStore } from './store.js'
import { digestToken, isTokenShaped } from './token.js'

export type Options = Readonly<typeof defaults>

/** Bounds of the authentication of one edge. */
export const defaults = {
  /** Tokens kept ready, about 300 bytes each. One more and the oldest is looked up again at its next use. */
  grantsMax: 65_536,
}

/** 401: no such token at this location. 403: a known one, but not from this address or not at this time. */
export type Refusal = 'unauthorized' | 'forbidden'

/** Says what a token opens at one location, now. Positional, because it runs once per request. */
export type Authenticate = (
  token: string,
  location: string,
  address: string,
  nowMs: number,
) => Grant | Refusal

/** A digest and an access that no token has: looked up and decoded where there is none. */
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
 * Authentication of one edge. `version` reads `accessVersion` in shared memory: as long as it stands, a token
 * once seen is answered from memory; when it moved, all that is forgotten, and the store is read anew.
 */
export const createAuthenticate = (
  store: AccessStore,
  version: () => number,
  options: Options = defaults,
): Authenticate => {
  const { grantsMax } = options
  const nobody = store.digests.encode(NOBODY)
  const noAccess = store.accesses.encode(NO_ACCESS)
  const grants = new Map<string, Grant>()
  let seenVersion = Number.NaN

  // The same work whether the token is unknown or of another location: the time of a 401 tells nothing.
  const lookUp = (token: string, location: string): Grant | undefined => {
    const found = store.digests.getBytes(digestToken(token))
    const digest = store.digests.decode(found ?? nobody)
    const access = store.accesses.decode(store.accesses.getBytes(digest.accessId) ?? noAccess)
    if (found === undefined || digest.location !== location) return undefined
    return Object.freeze({
      accessId: digest.accessId,
      tokenId: digest.tokenId,
      network: digest.network,
      location: digest.location,
      limits: Object.freeze(access.limits),
      validFromMs: access.validFromMs,
      validUntilMs: endOf(access),
      address: digest.address ?? undefined,
    })
  }

  const keep = (token: string, grant: Grant): void => {
    if (grants.size >= grantsMax)
      for (const oldest of grants.keys()) {
        grants.delete(oldest)
        break
      }
    grants.set(token, grant)
  }

  return (token, location, address, nowMs) => {
    const current = version()
    if (current !== seenVersion) {
      // Read before the look-up: a change that comes after this line raises it once more.
      seenVersion = current
      grants.clear()
      store.resetRead()
    }
    let grant = grants.get(token)
    if (grant === undefined || grant.location !== location) {
      if (!isTokenShaped(token)) return 'unauthorized'
      grant = lookUp(token, location)
      // Unknown tokens are not kept: a flood of them must neither fill memory nor push out the known ones.
      if (grant === undefined) return 'unauthorized'
      keep(token, grant)
    }
    if (nowMs < grant.validFromMs || nowMs >= grant.validUntilMs) return 'forbidden'
    if (grant.address !== undefined && grant.address !== address) return 'forbidden'
    return grant
  }
}
