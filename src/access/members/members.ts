import { RpcError } from '../../shared/errors.js'
import {
  ACCESS_ROLES,
  EMAIL_BYTES_MAX,
  MEMBER_ROLES,
  type AccessRole,
  type MemberRecord,
  type MemberRole,
} from '../store/member-shape.js'
import type { AccessDocument } from '../store/tables.js'

/** Who asks for an access. */
export type AccessPerson = {
  /** The `sub` claim of the identity provider. */
  readonly subject: string
  /**
   * The e-mail address that the provider says is verified, as `foldEmail` returns it; empty: there
   * is none, and the person is a member of nothing.
   */
  readonly verifiedEmail: string
}

/** About 300 bytes each in the document of their access. */
export const MEMBERS_MAX = 16

/** Blanks, control and format characters, and halves of surrogate pairs. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}]/u

/**
 * The form in which e-mail addresses are compared: A to Z as lower case, and nothing else changed,
 * since any further folding would make one of two addresses. Undefined of what is none: over 254
 * bytes, without exactly one `@` between two parts, or with a character that is not seen.
 */
export const foldEmail = (text: string): string | undefined => {
  if (text.length > EMAIL_BYTES_MAX || Buffer.byteLength(text) > EMAIL_BYTES_MAX) return undefined
  const [name, domain, ...more] = text.split('@')
  if (!name || !domain || more.length > 0 || UNSEEN.test(text)) return undefined
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

const isMemberRole = (role: string): role is MemberRole =>
  MEMBER_ROLES.some(known => known === role)

/** The role of a person in an access; undefined: they have nothing to do with it. */
export const roleOf = (
  { subject, members = [] }: Pick<AccessDocument, 'subject' | 'members'>,
  person: AccessPerson,
): AccessRole | undefined => {
  if (person.subject === subject) return 'owner'
  if (person.verifiedEmail === '') return undefined
  const role = members.find(({ email }) => email === person.verifiedEmail)?.role
  return role !== undefined && isMemberRole(role) ? role : undefined
}

/**
 * Throws an RpcError unless the role includes the one that is needed. Without a role there is no
 * such access.
 */
export const demandRole = (role: AccessRole | undefined, needed: AccessRole): void => {
  if (role === undefined) throw new RpcError('noSuchAccess')
  if (ACCESS_ROLES.indexOf(role) < ACCESS_ROLES.indexOf(needed))
    throw new RpcError('accessRole', { role, needed })
}

type WithMembers = Pick<AccessDocument, 'members'>

/** The access with one more member. Throws an RpcError if it has that one, or 16 others. */
export const withMember = <A extends WithMembers>(access: A, added: MemberRecord): A => {
  const { members = [] } = access
  if (members.some(({ email }) => email === added.email)) throw new RpcError('memberExists')
  if (members.length >= MEMBERS_MAX) throw new RpcError('membersFull', { max: MEMBERS_MAX })
  return { ...access, members: [...members, added] }
}

const demandMember = ({ members = [] }: WithMembers, email: string): readonly MemberRecord[] => {
  if (members.some(one => one.email === email)) return members
  throw new RpcError('noSuchMember')
}

/** The access with another role of a member. Throws an RpcError if there is no such member. */
export const withMemberRole = <A extends WithMembers>(
  access: A,
  email: string,
  role: MemberRole,
): A => ({
  ...access,
  members: demandMember(access, email).map(one => (one.email === email ? { ...one, role } : one)),
})

/** The access without a member. Throws an RpcError if there is no such member. */
export const withoutMember = <A extends WithMembers>(access: A, email: string): A => ({
  ...access,
  members: demandMember(access, email).filter(one => one.email !== email),
})
