import { RpcError } from '../shared/errors.js'
import type { Limits } from '../shared/grant.js'
import type { AccessStore } from './store.js'
import type { Access } from './tables.js'
import { randomBase62, type RandomBytes } from './token.js'

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

/** Passes and rentals: who may use which networks, where, and until when. */
export type Entitlement = {
  /** Durable when it resolves. */
  grant(access: NewAccess): Promise<Access>
  find(accessId: string): Access | undefined
  /** Every access of one person at the identity provider, in the order of their ids. */
  listOf(subject: string): readonly Access[]
}

const ACCESS_ID_CHARS = 12

/** First instant at which the access no longer holds; infinity where it has no end. */
export const endOf = (access: Access): number =>
  Math.min(access.validUntilMs ?? Infinity, access.endedAtMs ?? Infinity)

/** Finds an access that must be there, and offers the place. */
export const requireAccess = (
  store: AccessStore,
  place: { accessId: string; network: string; location: string },
): Access => {
  const access = store.accesses.get(place.accessId)
  if (access === undefined) throw new RpcError('noSuchAccess')
  if (!access.networks.includes(place.network))
    throw new RpcError('notOffered', { what: 'network' })
  if (!access.locations.includes(place.location))
    throw new RpcError('notOffered', { what: 'location' })
  return access
}

export const createEntitlement = (options: {
  readonly store: AccessStore
  readonly randomBytes: RandomBytes
  readonly now: () => number
}): Entitlement => {
  const { store, randomBytes, now } = options
  return {
    grant: fields =>
      store.transaction(() => {
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
        return access
      }),
    find: accessId => store.accesses.get(accessId),
    listOf: subject => {
      const accesses: Access[] = []
      for (const [, access] of store.accesses.from(''))
        if (access.subject === subject) accesses.push(access)
      return accesses
    },
  }
}
