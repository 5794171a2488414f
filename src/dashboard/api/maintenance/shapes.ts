import * as v from 'valibot'
import { ADMIN_ROLES } from '../../../access/tokens/admin-tokens.js'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))

const nameProblem = 'must be 1 to 32 of a–z 0–9 - and begin with a letter'
const instantProblem = 'must be a time in Unix milliseconds'
const instantMs = v.pipe(
  v.number(instantProblem),
  v.integer(instantProblem),
  v.minValue(0, instantProblem),
  v.maxValue(Number.MAX_SAFE_INTEGER, instantProblem),
)

/** Body of the request for an admin token. */
export const newAdminToken = v.strictObject({
  name: described(
    v.pipe(v.string(nameProblem), v.regex(/^[a-z][a-z0-9-]{0,31}$/, nameProblem)),
    'By which the audit log names it',
  ),
  role: described(
    v.picklist(ADMIN_ROLES, 'must be read or change'),
    '`read`: no token is shown and nothing is changed',
  ),
  validUntilMs: described(v.optional(v.nullable(instantMs), null), 'Exclusive; null: no end'),
})

const adminToken = v.object({
  name: v.string(),
  role: v.picklist([...ADMIN_ROLES, 'owner']),
  tail: described(v.string(), 'Its last characters'),
  createdAtMs: described(v.nullable(instantMs), 'Null of the token in the file'),
  validUntilMs: v.nullable(instantMs),
})

export const adminTokens = v.object({ tokens: v.array(adminToken) })

/** The only answer with its secret. */
export const madeAdminToken = v.object({ ...adminToken.entries, token: v.string() })

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

export const resealState = v.object({
  keyId: described(v.nullable(v.string()), 'Fingerprint of the key that seals; null: none yet'),
  formerKeyIds: described(v.array(v.string()), 'Of keys that the file has beside it'),
  state: v.picklist(['idle', 'running', 'done', 'failed']),
  accesses: described(count, 'Accesses that were looked at'),
  resealed: described(count, 'Tokens and webhooks that were sealed again'),
  unreadable: described(count, 'What no key of the file unseals: left as it is'),
  reason: described(v.optional(v.string()), 'Why it failed; what is left is readable'),
})
