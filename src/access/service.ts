import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError } from '../shared/errors.js'
import type { AccessManager, NewAccess } from './accesses/access-manager.js'
import type { ApiKeyInfo, ApiKeyManager, NewApiKey } from './keys/key-manager.js'
import type { AccessPerson } from './members/members.js'
import type { MemberRole } from './store/member-shape.js'
import type { Access, TokenScope } from './store/tables.js'
import type { AlertRule } from './store/webhook-shape.js'
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
  /** Resolves when this process reads what it has changed; both of the others do so, too. */
  settle(): Promise<void>
}

/**
 * All operations on accesses and tokens, for the dashboard, the admin API and the command line. A
 * change is on disk and in effect at every edge when its promise resolves. Invalid input rejects
 * with an RpcError, whose name, status and message may be shown to clients.
 */
export type AccessService = Omit<
  TokenManager,
  'endFormer' | 'regenerate' | 'revoke' | 'restrict'
> & {
  regenerate(scope: TokenScope, overlapMs?: number): Promise<NewToken & Effective>
  endFormer(scope: TokenScope): Promise<TokenInfo & Effective>
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
  /** Sets until when parameters of failed calls of an access are kept; 0: they are not. */
  keepParams(accessId: string, untilMs: number): Promise<Access & Effective>
  /** Makes an API key of an access, which no edge needs to know. */
  makeKey(accessId: string, key: NewApiKey): ReturnType<ApiKeyManager['make']>
  /** Ends an API key: no machine answers a request with it any more. */
  revokeKey(accessId: string, keyId: string): Promise<Effective>
  keysOf(accessId: string): readonly ApiKeyInfo[]
  /** Replaces the rules by which its holder is alerted, which no edge needs to know. */
  setAlertRules(accessId: string, rules: readonly AlertRule[]): Promise<Access>
  /** Adds a member with this e-mail address, as `foldEmail` returns it. */
  addMember(accessId: string, email: string, role: MemberRole): Promise<Access>
  /** Replaces the role of a member: no machine lets them do more any more. */
  setMemberRole(accessId: string, email: string, role: MemberRole): Promise<Access & Effective>
  /** Removes a member: no machine answers them anything of the access any more. */
  removeMember(accessId: string, email: string): Promise<Access & Effective>
  /** By the newest commit. */
  find(accessId: string): Access | undefined
  /** All accesses of one subject at the identity provider. */
  listOf(subject: string): readonly Access[]
  /** The accesses of a person, followed by those that list them as a member. */
  listFor(person: AccessPerson): readonly Access[]
  /** Up to `countMax` accesses of all subjects, in the order of their ids, after this id. */
  page(afterId: string, countMax: number): readonly Access[]
}

/**
 * Answers that show what an earlier change took away: it may be one whose own answer was lost, made
 * by this process, an earlier one or another machine.
 */
const isFoundGone = (
  error: unknown,
): error is RpcError<'noToken' | 'noSuchApiKey' | 'noSuchMember'> =>
  error instanceof RpcError && ['noToken', 'noSuchApiKey', 'noSuchMember'].includes(error.name)

/** What the answer says of the machines on which it is gone. */
const toProof = ({ revision, atMs, machines }: ChangeEffect): object => ({
  revision,
  deadAtMs: atMs,
  machines,
})

export const createAccessService = (options: {
  readonly accessManager: AccessManager
  readonly tokenManager: TokenManager
  readonly keyManager: ApiKeyManager
  readonly notifier: EdgeNotifier
  /** Every location. */
  readonly locations: readonly string[]
  /** Unix milliseconds. */
  readonly now: () => number
}): AccessService => {
  const { accessManager, tokenManager, keyManager, notifier, locations, now } = options

  /**
   * For changes that only grant something: an edge that learns of it late rejects requests for a
   * moment.
   */
  const announced = async <T>(location: string, change: Promise<T>): Promise<T> => {
    const result = await change
    await notifier.announce([location])
    return result
  }

  /** For changes that no edge needs to know. */
  const settled = async <T>(change: Promise<T>): Promise<T> => {
    const result = await change
    await notifier.settle()
    return result
  }

  /** For changes that take something away at some locations. */
  const acknowledged = async <T extends object | void>(
    change: Promise<T>,
    where: readonly string[],
  ): Promise<T & Effective> => {
    let result: T
    try {
      result = await change
    } catch (error) {
      if (isFoundGone(error)) {
        const found = await notifier.awaitAcknowledged(where)
        // This answer says that it is gone.
        if (found?.isPending === true) await sleep(found.atMs - now())
        if (found) throw new RpcError(error.name, undefined, toProof(found))
      }
      throw error
    }
    const effect = await notifier.awaitAcknowledged(where)
    return { ...result, ...(effect === undefined ? {} : { effect }) }
  }

  return {
    grant: access => settled(accessManager.grant(access)),
    // Everywhere: a location that an earlier change has removed may not know of that yet. An
    // extension may also shorten the access.
    extend: (accessId, validUntilMs) =>
      acknowledged(accessManager.extend(accessId, validUntilMs), locations),
    end: accessId => acknowledged(accessManager.end(accessId), locations),
    amend: (accessId, toTerms) => acknowledged(accessManager.amend(accessId, toTerms), locations),
    relabel: (accessId, label) => settled(accessManager.relabel(accessId, label)),
    keepParams: (accessId, untilMs) =>
      acknowledged(accessManager.keepParams(accessId, untilMs), locations),
    makeKey: (accessId, key) => settled(keyManager.make(accessId, key)),
    // Everywhere: the API of each machine takes it.
    revokeKey: (accessId, keyId) => acknowledged(keyManager.revoke(accessId, keyId), locations),
    keysOf: accessId => keyManager.list(accessId),
    setAlertRules: (accessId, rules) => settled(accessManager.setAlertRules(accessId, rules)),
    addMember: (accessId, email, role) => settled(accessManager.addMember(accessId, email, role)),
    // Everywhere: the dashboard of each machine answers members.
    setMemberRole: (accessId, email, role) =>
      acknowledged(accessManager.setMemberRole(accessId, email, role), locations),
    removeMember: (accessId, email) =>
      acknowledged(accessManager.removeMember(accessId, email), locations),
    find: accessId => accessManager.find(accessId),
    listOf: subject => accessManager.listOf(subject),
    listFor: person => accessManager.listFor(person),
    page: (afterId, countMax) => accessManager.page(afterId, countMax),
    generate: scope => announced(scope.location, tokenManager.generate(scope)),
    regenerate: (scope, overlapMs) =>
      acknowledged(tokenManager.regenerate(scope, overlapMs), [scope.location]),
    endFormer: scope => acknowledged(tokenManager.endFormer(scope), [scope.location]),
    revoke: scope => acknowledged(tokenManager.revoke(scope), [scope.location]),
    restrict: (scope, address) =>
      acknowledged(tokenManager.restrict(scope, address), [scope.location]),
    reveal: scope => tokenManager.reveal(scope),
    list: accessId => tokenManager.list(accessId),
  }
}
