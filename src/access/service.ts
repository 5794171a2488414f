import type { AccessManager, NewAccess } from './accesses/access-manager.js'
import type { Access } from './store/tables.js'
import type { TokenManager } from './tokens/token-manager.js'

/** Notifies the edges of a change that is on disk. */
export type EdgeNotifier = {
  /** Makes every edge check all later requests against the stored state. */
  announce(): void
  /**
   * The same; resolves when no request that was admitted before can succeed any more: every live
   * edge has acknowledged the change, or was ended.
   */
  awaitAcknowledged(): Promise<void>
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
}): AccessService => {
  const { accessManager, tokenManager, notifier } = options
  let isUnacknowledged = false

  const awaitAcknowledged = async (): Promise<void> => {
    isUnacknowledged = true
    await notifier.awaitAcknowledged()
    isUnacknowledged = false
  }

  /**
   * For changes that only grant something: an edge that learns of it late rejects requests for a
   * moment.
   */
  const announced = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change
    notifier.announce()
    return result
  }

  /** For changes that take something away. */
  const acknowledged = async <T>(change: Promise<T>): Promise<T> => {
    let result: T
    try {
      result = await change
    } catch (error) {
      // `noToken` may be the answer to a retry of a revocation that is stored, but was not
      // acknowledged.
      if (isUnacknowledged) await awaitAcknowledged()
      throw error
    }
    await awaitAcknowledged()
    return result
  }

  return {
    grant: access => accessManager.grant(access),
    // Acknowledged, because it may also shorten the access.
    extend: (accessId, validUntilMs) => acknowledged(accessManager.extend(accessId, validUntilMs)),
    end: accessId => acknowledged(accessManager.end(accessId)),
    find: accessId => accessManager.find(accessId),
    listOf: subject => accessManager.listOf(subject),
    page: (afterId, countMax) => accessManager.page(afterId, countMax),
    generate: scope => announced(tokenManager.generate(scope)),
    regenerate: scope => acknowledged(tokenManager.regenerate(scope)),
    revoke: scope => acknowledged(tokenManager.revoke(scope)),
    restrict: (scope, address) => acknowledged(tokenManager.restrict(scope, address)),
    reveal: scope => tokenManager.reveal(scope),
    list: accessId => tokenManager.list(accessId),
  }
}
