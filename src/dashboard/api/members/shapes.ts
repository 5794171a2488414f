import * as v from 'valibot'
import { EMAIL_BYTES_MAX, MEMBER_ROLES } from '../../../access/store/member-shape.js'
import { effectEntry } from '../effect-shape.js'
import { described, instantMs, text } from '../shape-parts.js'

export const emailProblem = `must be an e-mail address of at most ${EMAIL_BYTES_MAX} bytes, without blanks`

const email = described(
  v.pipe(
    v.string(emailProblem),
    v.maxLength(EMAIL_BYTES_MAX, emailProblem),
    // linear: the parts have no `@`
    v.regex(/^[^@\s]+@[^@\s]+$/, emailProblem),
  ),
  'An e-mail address as the identity provider has it; only A to Z count as a to z',
)

const role = described(
  v.picklist(MEMBER_ROLES, `must be one of ${MEMBER_ROLES.join(', ')}`),
  '`view`: everything but secrets; `manage`: what the owner does, but not members',
)

export const wanted = v.strictObject({ email, role })
export const named = v.strictObject({ email })

const member = {
  email: described(text, 'With a to z in place of A to Z'),
  role: text,
  addedAtMs: instantMs,
}

export const left = v.object({ email: member.email, ...effectEntry })

export const members = v.object({
  members: described(v.array(v.object(member)), 'In the order in which they were added'),
})
