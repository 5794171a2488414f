import type { TokenManager } from './tokens/token-manager.js'
import type { AccessManager, NewAccess } from './accesses/access-manager.js'
import type { Access } from './store/tables.js'

/** Makes edges know of a change that is on disk. */
export type EdgeNotifier = {
  /** From now on every request of every edge is judged by what is stored. */
  announce(): void
  /**
   * The same, and nothing that was let in before can succeed any more: every live edge has
   * confirmed, or was ended.
   */
  awaitAcknowledged(): Promise<void>
}

/**
 * Everything that can be done to accesses and tokens: what the dashboard, the admin API and the
 * command line call. A change, also that of a token, is on disk and in effect at every edge when
 * its promise resolves. Wrong input rejects with an RpcError, whose name, status and message may be
 * shown.
 */
export type AccessService = TokenManager & {
  grant(access: NewAccess): Promise<Access>
  /** Sets the end (exclusive; null is without). Its tokens live again where it had ended. */
  extend(accessId: string, validUntilMs: number | null): Promise<Access>
  /** Its tokens open nothing from now on, and are kept. */
  end(accessId: string): Promise<Access>
  find(accessId: string): Access | undefined
  /** Every access of one person at the identity provider. */
  listOf(subject: string): readonly Access[]
  /**
   * Up to `countMax` accesses of everybody in the order of their ids, from the one after this id
   * on.
   */
  page(afterId: string, countMax: number): readonly Access[]
}

export const createAccessService = (options: {
  readonly accessManager: AccessManager
  readonly tokenManager: TokenManager
  readonly notifier: EdgeNotifier
}): AccessService => {
  const { accessManager, tokenManager, notifier } = options
  /** For what opens something: an edge that is a moment late refuses, and that is all. */
  const announced = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change
    notifier.announce()
    return result
  }
  let isUnsettled = false
  const awaitAcknowledged = async (): Promise<void> => {
    isUnsettled = true
    await notifier.awaitAcknowledged()
    isUnsettled = false
  }
  /** For what takes something away: nobody may go on with it. */
  const settled = async <T>(change: Promise<T>): Promise<T> => {
    let result: T
    try {
      result = await change
    } catch (error) {
      // `No token` may mean that the call before this one revoked it, and could not say that it was
      // in effect.
      if (isUnsettled) await awaitAcknowledged()
      throw error
    }
    await awaitAcknowledged()
    return result
  }
  return {
    grant: access => accessManager.grant(access),
    // May also shorten it.
    extend: (accessId, validUntilMs) => settled(accessManager.extend(accessId, validUntilMs)),
    end: accessId => settled(accessManager.end(accessId)),
    find: accessId => accessManager.find(accessId),
    listOf: subject => accessManager.listOf(subject),
    page: (afterId, countMax) => accessManager.page(afterId, countMax),
    generate: scope => announced(tokenManager.generate(scope)),
    regenerate: scope => settled(tokenManager.regenerate(scope)),
    revoke: scope => settled(tokenManager.revoke(scope)),
    restrict: (scope, address) => settled(tokenManager.restrict(scope, address)),
    reveal: scope => tokenManager.reveal(scope),
    list: accessId => tokenManager.list(accessId),
  }
}
