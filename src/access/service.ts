import { RpcError } from '../shared/errors.js'
import type { AccessManager, NewAccess } from './accesses/access-manager.js'
import type { Access } from './store/tables.js'
import type { TokenManager } from './tokens/token-manager.js'

/** Notifies the edges at some locations of a change that is on disk. */
export type EdgeNotifier = {
  /** Makes every edge check all later requests against the stored state. */
  announce(locations: readonly string[]): Promise<void>
  /**
   * The same; resolves when no request that was admitted before can succeed any more: every live
   * edge has acknowledged the change, or was ended.
   */
  awaitAcknowledged(locations: readonly string[]): Promise<void>
}

/**
 * All operations on accesses and tokens, for the dashboard, the admin API and the command line. A
 * change is on disk and in effect at every edge when its promise resolves. Invalid input rejects
 * with an RpcError, whose name, status and message may be shown to clients.
 */
export type AccessService = TokenManager & {
  grant(access: NewAccess): Promise<Access>
  /** Sets the end (exclusive; null is none). Tokens of an access that had ended are valid again. */
  extend(accessId: string, validUntilMs: number | null): Promise<Access>
  /** Ends the access now. Its tokens are kept, but rejected. */
  end(accessId: string): Promise<Access>
  /**
   * Replaces what an access has by what `toTerms` makes of it. Tokens of networks and locations
   * that it loses are revoked.
   */
  amend(accessId: string, toTerms: (access: Access) => Access): Promise<Access>
  find(accessId: string): Access | undefined
  /** All accesses of one subject at the identity provider. */
  listOf(subject: string): readonly Access[]
  /** Up to `countMax` accesses of all subjects, in the order of their ids, after this id. */
  page(afterId: string, countMax: number): readonly Access[]
}

export const createAccessService = (options: {
  readonly accessManager: AccessManager
  readonly tokenManager: TokenManager
  readonly notifier: EdgeNotifier
  /** Where an earlier process may have ended between a change and its acknowledgement. */
  readonly locations?: readonly string[]
}): AccessService => {
  const { accessManager, tokenManager, notifier, locations: earlier = [] } = options
  /** Where changes are stored that were not acknowledged. */
  const unacknowledged = new Set(earlier)

  const awaitAcknowledged = async (locations: readonly string[]): Promise<void> => {
    for (const location of locations) unacknowledged.add(location)
    await notifier.awaitAcknowledged(locations)
    for (const location of locations) unacknowledged.delete(location)
  }

  /**
   * For changes that only grant something: an edge that learns of it late rejects requests for a
   * moment.
   */
  const announced = async <T>(location: string, change: Promise<T>): Promise<T> => {
    const result = await change
    await notifier.announce([location])
    return result
  }

  /** For changes that take something away at some locations, known once it has settled. */
  const acknowledged = async <T>(
    change: Promise<T>,
    toLocations: () => readonly string[],
  ): Promise<T> => {
    let result: T
    try {
      result = await change
    } catch (error) {
      // It may be stored after all: whoever retries it must wait for these locations, too.
      if (error instanceof RpcError && error.name === 'changeUnknown') {
        for (const location of toLocations()) unacknowledged.add(location)
        throw error
      }
      // `noToken` may be the answer to a retry of a revocation that is stored, but was not
      // acknowledged.
      if (unacknowledged.size > 0) await awaitAcknowledged([...unacknowledged])
      throw error
    }
    await awaitAcknowledged(toLocations())
    return result
  }
  const locationsOf = (accessId: string) => (): readonly string[] =>
    accessManager.find(accessId)?.locations ?? []

  const amend = async (accessId: string, toTerms: (access: Access) => Access): Promise<Access> => {
    let locations: readonly string[] = []
    const change = accessManager.amend(accessId, access => {
      const terms = toTerms(access)
      // A location that an unconfirmed attempt has removed is in neither.
      locations = [...new Set([...access.locations, ...terms.locations, ...unacknowledged])]
      return terms
    })
    return acknowledged(change, () => locations)
  }

  return {
    grant: access => accessManager.grant(access),
    // Acknowledged, because it may also shorten the access.
    extend: (accessId, validUntilMs) =>
      acknowledged(accessManager.extend(accessId, validUntilMs), locationsOf(accessId)),
    end: accessId => acknowledged(accessManager.end(accessId), locationsOf(accessId)),
    amend,
    find: accessId => accessManager.find(accessId),
    listOf: subject => accessManager.listOf(subject),
    page: (afterId, countMax) => accessManager.page(afterId, countMax),
    generate: scope => announced(scope.location, tokenManager.generate(scope)),
    regenerate: scope => acknowledged(tokenManager.regenerate(scope), () => [scope.location]),
    revoke: scope => acknowledged(tokenManager.revoke(scope), () => [scope.location]),
    restrict: (scope, address) =>
      acknowledged(tokenManager.restrict(scope, address), () => [scope.location]),
    reveal: scope => tokenManager.reveal(scope),
    list: accessId => tokenManager.list(accessId),
  }
}
