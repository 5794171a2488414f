import * as v from 'valibot'

/** What members may do: read everything but secrets, or what the owner does but choose members. */
export const MEMBER_ROLES = ['view', 'manage'] as const
export type MemberRole = (typeof MEMBER_ROLES)[number]

/** What a person may do with an access. Each role includes those before it. */
export const ACCESS_ROLES = [...MEMBER_ROLES, 'owner'] as const
export type AccessRole = (typeof ACCESS_ROLES)[number]

/** The longest e-mail address, in bytes of UTF-8: RFC 5321 §4.5.3.1.3, without the brackets. */
export const EMAIL_BYTES_MAX = 254

/** A person who may use the dashboard for an access of somebody else. */
export const member = v.object({
  /** As `foldEmail` returns it. */
  email: v.pipe(v.string(), v.nonEmpty(), v.maxLength(EMAIL_BYTES_MAX)),
  /** Any text, so that an earlier build reads an access whose members have later roles. */
  role: v.pipe(v.string(), v.nonEmpty(), v.maxLength(64)),
  /** Unix milliseconds. */
  addedAtMs: v.pipe(v.number(), v.integer(), v.minValue(0)),
})

/** A member as the document of the access contains it. */
export type MemberRecord = Readonly<v.InferOutput<typeof member>>
