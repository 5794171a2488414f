import { RpcError } from '../shared/errors.js'
import type { AccessManager, NewAccess } from './accesses/access-manager.js'
import type { Access, TokenScope } from './store/tables.js'
import type { NewToken, TokenInfo, TokenManager } from './tokens/token-manager.js'

/** How a change came into effect on the machines of a cluster. */
export type ChangeEffect = {
  readonly revision: number
  /**
   * When no machine lets anything succeed any more that the change forbids, in Unix milliseconds: a
   * time that has passed, or one to come where `isPending`.
   */
  readonly atMs: number
  /** A machine has not confirmed it, and its lease has not ended yet. */
  readonly isPending: boolean
  /** Its own confirmation, or the end of its lease. */
  readonly machines: readonly { readonly id: string; readonly by: 'confirmed' | 'lease' }[]
}

/** Has the effect of a change; absent on a machine by itself, where it is known to every edge. */
export type Effective = { readonly effect?: ChangeEffect }

/** Notifies the edges at some locations of a change that is on disk. */
export type EdgeNotifier = {
  /** Makes every edge check all later requests against the stored state. */
  announce(locations: readonly string[]): Promise<void>
  /**
   * The same; resolves when no request that was admitted before can succeed any more: every live
   * edge has acknowledged the change, or was ended. In a cluster it may resolve before, with when
   * that will be.
   */
  awaitAcknowledged(locations: readonly string[]): Promise<ChangeEffect | void>
}

/**
 * All operations on accesses and tokens, for the dashboard, the admin API and the command line. A
 * change is on disk and in effect at every edge when its promise resolves. Invalid input rejects
 * with an RpcError, whose name, status and message may be shown to clients.
 */
export type AccessService = Omit<TokenManager, 'regenerate' | 'revoke' | 'restrict'> & {
  regenerate(scope: TokenScope): Promise<NewToken & Effective>
  revoke(scope: TokenScope): Promise<Effective>
  restrict(scope: TokenScope, address: string): Promise<TokenInfo & Effective>
  grant(access: NewAccess): Promise<Access>
  /** Sets the end (exclusive; null is none). Tokens of an access that had ended are valid again. */
  extend(accessId: string, validUntilMs: number | null): Promise<Access & Effective>
  /** Ends the access now. Its tokens are kept, but rejected. */
  end(accessId: string): Promise<Access & Effective>
  /**
   * Replaces what an access has by what `toTerms` makes of it. Tokens of networks and locations
   * that it loses are revoked.
   */
  amend(accessId: string, toTerms: (access: Access) => Access): Promise<Access & Effective>
  /** Sets the holder's name for an access, which no edge needs to know; empty is none. */
  relabel(accessId: string, label: string): Promise<Access>
  find(accessId: string): Access | undefined
  /** All accesses of one subject at the identity provider. */
  listOf(subject: string): readonly Access[]
  /** Up to `countMax` accesses of all subjects, in the order of their ids, after this id. */
  page(afterId: string, countMax: number): readonly Access[]
}

/** Whether the log may have the change or not: then it answers nothing about earlier ones. */
const isUnknown = (error: unknown): boolean =>
  error instanceof RpcError && error.name === 'changeUnknown'

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

  const awaitAcknowledged = async (locations: readonly string[]): Promise<Effective> => {
    for (const location of locations) unacknowledged.add(location)
    const effect = await notifier.awaitAcknowledged(locations)
    if (effect?.isPending !== true)
      for (const location of locations) unacknowledged.delete(location)
    return effect === undefined ? {} : { effect }
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
  const acknowledged = async <T extends object | void>(
    change: Promise<T>,
    toLocations: () => readonly string[],
  ): Promise<T & Effective> => {
    let result: T
    try {
      result = await change
    } catch (error) {
      // It may be stored after all: whoever retries it must wait for these locations, too.
      if (isUnknown(error)) {
        for (const location of toLocations()) unacknowledged.add(location)
        throw error
      }
      // `noToken` may be the answer to a retry of a revocation that is stored, but was not
      // acknowledged.
      if (unacknowledged.size > 0) await awaitAcknowledged([...unacknowledged])
      throw error
    }
    return { ...result, ...(await awaitAcknowledged(toLocations())) }
  }
  const locationsOf = (accessId: string) => (): readonly string[] =>
    accessManager.find(accessId)?.locations ?? []

  const amend = async (
    accessId: string,
    toTerms: (access: Access) => Access,
  ): Promise<Access & Effective> => {
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
    relabel: (accessId, label) => accessManager.relabel(accessId, label),
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
