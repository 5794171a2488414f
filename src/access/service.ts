import type { Credentials } from './tokens/credentials.js'
import type { Entitlement, NewAccess } from './accesses/accesses.js'
import type { Access } from './store/tables.js'

/** Makes edges know of a change that is on disk. */
export type Effect = {
  /** From now on every request of every edge is judged by what is stored. */
  announce(): void
  /**
   * The same, and nothing that was let in before can succeed any more: every live edge has
   * confirmed, or was ended.
   */
  settle(): Promise<void>
}

/**
 * Everything that can be done to accesses and tokens: what the dashboard, the admin API and the
 * command line call. A change, also that of a token, is on disk and in effect at every edge when
 * its promise resolves. Wrong input rejects with an RpcError, whose name, status and message may be
 * shown.
 */
export type Administration = Credentials & {
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

export const createAdministration = (options: {
  readonly entitlement: Entitlement
  readonly credentials: Credentials
  readonly effect: Effect
}): Administration => {
  const { entitlement, credentials, effect } = options
  /** For what opens something: an edge that is a moment late refuses, and that is all. */
  const announced = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change
    effect.announce()
    return result
  }
  let isUnsettled = false
  const settle = async (): Promise<void> => {
    isUnsettled = true
    await effect.settle()
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
      if (isUnsettled) await settle()
      throw error
    }
    await settle()
    return result
  }
  return {
    grant: access => entitlement.grant(access),
    // May also shorten it.
    extend: (accessId, validUntilMs) => settled(entitlement.extend(accessId, validUntilMs)),
    end: accessId => settled(entitlement.end(accessId)),
    find: accessId => entitlement.find(accessId),
    listOf: subject => entitlement.listOf(subject),
    page: (afterId, countMax) => entitlement.page(afterId, countMax),
    generate: place => announced(credentials.generate(place)),
    regenerate: place => settled(credentials.regenerate(place)),
    revoke: place => settled(credentials.revoke(place)),
    restrict: (place, address) => settled(credentials.restrict(place, address)),
    reveal: place => credentials.reveal(place),
    list: accessId => credentials.list(accessId),
  }
}
