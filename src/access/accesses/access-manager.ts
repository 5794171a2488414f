import { RpcError } from '../../shared/errors.js'
import type { Limits } from '../../shared/access-limits.js'
import type { AccessJournal } from '../journal/access-journal.js'
import {
  roleOf,
  withMember,
  withMemberRole,
  withoutMember,
  type AccessPerson,
} from '../members/members.js'
import type { AccessStore } from '../store/access-store.js'
import type { MemberRole } from '../store/member-shape.js'
import type { Access, AccessDocument, StoredAccess, TokenScope } from '../store/tables.js'
import type { AlertRule } from '../store/webhook-shape.js'
import { withFormerTokens } from '../tokens/former-tokens.js'
import { randomBase62, type RandomBytes } from '../tokens/location-token.js'

/** A pass or rental to grant. Its id and the time of the grant are added. */
export type NewAccess = {
  readonly subject: string
  readonly kind: 'pass' | 'rental'
  readonly product: string
  /** The operator's name for it; default: none. */
  readonly label?: string | undefined
  readonly networks: readonly string[]
  readonly locations: readonly string[]
  readonly limits: Limits
  readonly validFromMs: number
  /** Exclusive; null is no end. */
  readonly validUntilMs: number | null
}

/**
 * Manages passes and rentals. A change is on disk when its promise resolves. Tokens of an ended
 * access are kept: they are rejected, and valid again after it is extended.
 */
export type AccessManager = {
  grant(access: NewAccess): Promise<Access>
  /** Sets the end (exclusive; null is none), also of an access that was ended manually. */
  extend(accessId: string, validUntilMs: number | null): Promise<Access>
  /** Ends the access now. One that was ended manually before keeps that time. */
  end(accessId: string): Promise<Access>
  /**
   * Replaces what an access has by what `toTerms` makes of it, which is called again where another
   * change came first. Tokens of its networks and locations are unchanged, others are revoked.
   */
  amend(accessId: string, toTerms: (access: Access) => Access): Promise<Access>
  /** Sets the holder's name for it; empty is none. */
  relabel(accessId: string, label: string): Promise<Access>
  /** Sets until when parameters of its failed calls are kept; 0: they are not. */
  keepParams(accessId: string, untilMs: number): Promise<Access>
  /** Replaces the rules by which its holder is alerted. */
  setAlertRules(accessId: string, rules: readonly AlertRule[]): Promise<Access>
  /** Adds a member with this e-mail address, as `foldEmail` returns it. */
  addMember(accessId: string, email: string, role: MemberRole): Promise<Access>
  /** Replaces the role of a member. Rejected if there is none. */
  setMemberRole(accessId: string, email: string, role: MemberRole): Promise<Access>
  /** Removes a member. Rejected if there is none. */
  removeMember(accessId: string, email: string): Promise<Access>
  /** By the newest commit. */
  find(accessId: string): Access | undefined
  /** Up to `countMax` accesses of all subjects, in the order of their ids, after this id. */
  page(afterId: string, countMax: number): readonly Access[]
  /** All accesses of one subject at the identity provider, in the order of their ids. */
  listOf(subject: string): readonly Access[]
  /**
   * The accesses of a person by the newest commit, followed by up to 256 of others that list them
   * as a member; both in the order of their ids.
   */
  listFor(person: AccessPerson): readonly Access[]
}

const ACCESS_ID_CHARS = 12

/** Whoever has many accesses must not make the pages of others slow by adding them. */
const MEMBERSHIPS_MAX = 256

/** The first instant after the access; infinity if it has no end. */
export const endOf = (access: Access): number =>
  Math.min(access.validUntilMs ?? Infinity, access.endedAtMs ?? Infinity)

/**
 * The state of the access at that time. One that was ended manually stays ended, also after the
 * clock was set back.
 */
export const stateOf = (access: Access, nowMs: number): 'upcoming' | 'active' | 'ended' => {
  if (access.endedAtMs !== null || nowMs >= endOf(access)) return 'ended'
  return nowMs < access.validFromMs ? 'upcoming' : 'active'
}

export const requireAccess = <A extends Access>(access: A | undefined): A => {
  if (access === undefined) throw new RpcError('noSuchAccess')
  return access
}

/**
 * The access with another end (exclusive; null is none). It is not ended manually then. Throws an
 * RpcError unless the end is in the future.
 */
export const withEnd = <A extends Access>(
  access: A,
  validUntilMs: number | null,
  nowMs: number,
): A => {
  const firstMs = Math.max(nowMs, access.validFromMs)
  if (validUntilMs !== null && validUntilMs <= firstMs) throw new RpcError('endPassed')
  return { ...access, validUntilMs, endedAtMs: null }
}

/** Returns the access, or throws an RpcError if there is none or it does not include the scope. */
export const requireScope = <A extends Access>(found: A | undefined, scope: TokenScope): A => {
  const access = requireAccess(found)
  if (!access.networks.includes(scope.network))
    throw new RpcError('notOffered', { what: 'network' })
  if (!access.locations.includes(scope.location))
    throw new RpcError('notOffered', { what: 'location' })
  return access
}

/** An access without its tokens. */
const withoutTokens = (
  stored: AccessDocument & Partial<Pick<StoredAccess, 'changeId' | 'revision'>>,
): Access => {
  const { tokens: _tokens, formerTokens: _former, webhooks: _webhooks, ...rest } = stored
  const { apiKeys: _keys, changeId: _changeId, revision: _revision, ...access } = rest
  return access
}

/** Accesses of others that list a person as a member. */
const sharedWith = (store: AccessStore, person: AccessPerson): readonly Access[] => {
  const { verifiedEmail } = person
  const shared: Access[] = []
  if (verifiedEmail === '') return shared
  for (const [[email, accessId]] of store.members()?.from([verifiedEmail, '']) ?? []) {
    if (email !== verifiedEmail || shared.length >= MEMBERSHIPS_MAX) break
    const stored = store.accesses.get(accessId)
    const role = stored && roleOf(stored, person)
    // The owner has it already. An earlier build may have dropped a member, and left the index.
    if (stored !== undefined && role !== undefined && role !== 'owner')
      shared.push(withoutTokens(stored))
  }
  return shared
}

/** The terms with those tokens of the access that are within them. */
const withTokensOf = (access: AccessDocument, terms: Access, nowMs: number): AccessDocument => {
  const tokens = access.tokens.filter(
    ({ network, location }) =>
      terms.networks.includes(network) && terms.locations.includes(location),
  )
  return withFormerTokens(access, { ...access, ...terms, tokens }, nowMs)
}

/** What is read of accesses. */
const createReads = (
  store: AccessStore,
): Pick<AccessManager, 'find' | 'page' | 'listOf' | 'listFor'> => {
  const listOf = (subject: string): readonly Access[] => {
    const accesses: Access[] = []
    for (const [[owner, accessId]] of store.subjects.from([subject, ''])) {
      if (owner !== subject) break
      accesses.push(withoutTokens(requireAccess(store.accesses.get(accessId))))
    }
    return accesses
  }
  return {
    find: accessId => {
      store.resetRead()
      const stored = store.accesses.get(accessId)
      return stored && withoutTokens(stored)
    },
    page: (afterId, countMax) => {
      const accesses: Access[] = []
      for (const [accessId, stored] of store.accesses.from(afterId)) {
        if (accesses.length >= countMax) break
        if (accessId !== afterId) accesses.push(withoutTokens(stored))
      }
      return accesses
    },
    listOf,
    listFor: person => {
      store.resetRead()
      return [...listOf(person.subject), ...sharedWith(store, person)]
    },
  }
}

export const createAccessManager = (options: {
  /** Where accesses are read. */
  readonly store: AccessStore
  /** Where they are changed. */
  readonly journal: AccessJournal
  readonly randomBytes: RandomBytes
  readonly now: () => number
}): AccessManager => {
  const { store, journal, randomBytes, now } = options
  const update = async (
    accessId: string,
    toNew: (access: AccessDocument) => AccessDocument,
  ): Promise<Access> =>
    withoutTokens(
      await journal.propose({ accessId, update: current => toNew(requireAccess(current)) }),
    )
  return {
    grant: async fields => {
      const accessId = `acc_${randomBase62(ACCESS_ID_CHARS, randomBytes)}`
      const create = (): AccessDocument => {
        if (fields.validUntilMs !== null && fields.validUntilMs <= fields.validFromMs)
          throw new RpcError('endPassed')
        return {
          accessId,
          subject: fields.subject,
          kind: fields.kind,
          product: fields.product,
          label: fields.label ?? '',
          networks: [...fields.networks],
          locations: [...fields.locations],
          limits: fields.limits,
          createdAtMs: now(),
          validFromMs: fields.validFromMs,
          validUntilMs: fields.validUntilMs,
          endedAtMs: null,
          tokens: [],
          formerTokens: [],
          webhooks: [],
        }
      }
      return withoutTokens(await journal.propose({ accessId, update: create }))
    },
    extend: (accessId, validUntilMs) =>
      update(accessId, access => withEnd(access, validUntilMs, now())),
    end: accessId =>
      update(accessId, access => ({ ...access, endedAtMs: access.endedAtMs ?? now() })),
    amend: (accessId, toTerms) =>
      update(accessId, access => withTokensOf(access, toTerms(withoutTokens(access)), now())),
    relabel: (accessId, label) =>
      update(accessId, ({ holderLabel: _former, ...access }) =>
        label === '' ? access : { ...access, holderLabel: label },
      ),
    keepParams: (accessId, untilMs) =>
      update(accessId, ({ paramsUntilMs: _former, ...access }) =>
        untilMs === 0 ? access : { ...access, paramsUntilMs: untilMs },
      ),
    setAlertRules: (accessId, alertRules) =>
      update(accessId, access => ({ ...access, alertRules })),
    addMember: (accessId, email, role) =>
      update(accessId, access => withMember(access, { email, role, addedAtMs: now() })),
    setMemberRole: (accessId, email, role) =>
      update(accessId, access => withMemberRole(access, email, role)),
    removeMember: (accessId, email) => update(accessId, access => withoutMember(access, email)),
    ...createReads(store),
  }
}
