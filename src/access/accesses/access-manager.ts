import { RpcError } from '../../shared/errors.js'
import type { Limits } from '../../shared/grant.js'
import type { AccessStore } from '../store/store.js'
import type { Access, TokenScope } from '../store/tables.js'
import { randomBase62, type RandomBytes } from '../tokens/location-token.js'

/** What a new pass or rental holds; its id and the time of its making are added. */
export type NewAccess = {
  readonly subject: string
  readonly kind: 'pass' | 'rental'
  readonly product: string
  readonly networks: readonly string[]
  readonly locations: readonly string[]
  readonly limits: Limits
  readonly validFromMs: number
  /** Exclusive; null is without end. */
  readonly validUntilMs: number | null
}

/**
 * Passes and rentals: who may use which networks, where, and until when. A change is on disk when
 * its promise resolves. Tokens are left alone: those of an access that ended open nothing, and do
 * again when it is extended.
 */
export type AccessManager = {
  grant(access: NewAccess): Promise<Access>
  /** Sets its end (exclusive; null is without), and takes back that it was ended by hand. */
  extend(accessId: string, validUntilMs: number | null): Promise<Access>
  /** Ends it now. One that was ended by hand before keeps that time. */
  end(accessId: string): Promise<Access>
  find(accessId: string): Access | undefined
  /**
   * Up to `countMax` accesses of everybody in the order of their ids, from the one after this id
   * on.
   */
  page(afterId: string, countMax: number): readonly Access[]
  /** Every access of one person at the identity provider, in the order of their ids. */
  listOf(subject: string): readonly Access[]
}

const ACCESS_ID_CHARS = 12

/** First instant at which the access no longer holds; infinity where it has no end. */
export const endOf = (access: Access): number =>
  Math.min(access.validUntilMs ?? Infinity, access.endedAtMs ?? Infinity)

/**
 * Whether the access holds at that time. What was ended by hand is over whatever the clock says:
 * one that is set back must not bring it to life.
 */
export const stateOf = (access: Access, nowMs: number): 'upcoming' | 'active' | 'ended' => {
  if (access.endedAtMs !== null || nowMs >= endOf(access)) return 'ended'
  return nowMs < access.validFromMs ? 'upcoming' : 'active'
}

const find = (store: AccessStore, accessId: string): Access => {
  const access = store.accesses.get(accessId)
  if (access === undefined) throw new RpcError('noSuchAccess')
  return access
}

/** Finds an access that must be there, and offers the scope. */
export const requireAccess = (store: AccessStore, scope: TokenScope): Access => {
  const access = find(store, scope.accessId)
  if (!access.networks.includes(scope.network))
    throw new RpcError('notOffered', { what: 'network' })
  if (!access.locations.includes(scope.location))
    throw new RpcError('notOffered', { what: 'location' })
  return access
}

export const createAccessManager = (options: {
  readonly store: AccessStore
  readonly randomBytes: RandomBytes
  readonly now: () => number
}): AccessManager => {
  const { store, randomBytes, now } = options
  const update = (accessId: string, toNew: (access: Access) => Access): Promise<Access> =>
    store.transaction(() => {
      const access = toNew(find(store, accessId))
      store.accesses.put(accessId, access)
      return access
    })
  return {
    grant: fields =>
      store.transaction(() => {
        if (fields.validUntilMs !== null && fields.validUntilMs <= fields.validFromMs)
          throw new RpcError('endPassed')
        const access: Access = {
          accessId: `acc_${randomBase62(ACCESS_ID_CHARS, randomBytes)}`,
          subject: fields.subject,
          kind: fields.kind,
          product: fields.product,
          networks: [...fields.networks],
          locations: [...fields.locations],
          limits: fields.limits,
          createdAtMs: now(),
          validFromMs: fields.validFromMs,
          validUntilMs: fields.validUntilMs,
          endedAtMs: null,
        }
        store.accesses.put(access.accessId, access)
        store.subjects.put([access.subject, access.accessId], {})
        return access
      }),
    extend: (accessId, validUntilMs) =>
      update(accessId, access => {
        const firstMs = Math.max(now(), access.validFromMs)
        if (validUntilMs !== null && validUntilMs <= firstMs) throw new RpcError('endPassed')
        return { ...access, validUntilMs, endedAtMs: null }
      }),
    end: accessId =>
      update(accessId, access => ({ ...access, endedAtMs: access.endedAtMs ?? now() })),
    find: accessId => store.accesses.get(accessId),
    page: (afterId, countMax) => {
      const accesses: Access[] = []
      for (const [accessId, access] of store.accesses.from(afterId)) {
        if (accesses.length >= countMax) break
        if (accessId !== afterId) accesses.push(access)
      }
      return accesses
    },
    listOf: subject => {
      const accesses: Access[] = []
      for (const [[owner, accessId]] of store.subjects.from([subject, ''])) {
        if (owner !== subject) break
        accesses.push(find(store, accessId))
      }
      return accesses
    },
  }
}
