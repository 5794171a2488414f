import * as v from 'valibot'
import * as memberShapes from './members/shapes.js'
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../access/audit/actions.js'
import { effectEntry } from './effect-shape.js'
import { mapLimits } from '../../shared/access-limits.js'
import { methodFigures, queryInteger } from './shape-parts.js'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))

const text = v.string('must be a text')
const instantProblem = 'must be a time in Unix milliseconds'
const instantMs = v.pipe(
  v.number(instantProblem),
  v.integer(instantProblem),
  v.minValue(0, instantProblem),
  v.maxValue(Number.MAX_SAFE_INTEGER, instantProblem),
)
const countProblem = 'must be an integer from 0 to 4294967295'
const count = v.pipe(
  v.number(countProblem),
  v.integer(countProblem),
  v.minValue(0, countProblem),
  v.maxValue(2 ** 32 - 1, countProblem),
)
/** Most networks, and most locations, of one access. */
const IDS_MAX = 1_000
const ids = v.pipe(
  v.array(text, 'must be a list of ids'),
  v.maxLength(IDS_MAX, `must be at most ${IDS_MAX} ids`),
)
const subjectProblem = 'must be a text of 1 to 255 characters'
/** The bound of `sub` in OpenID Connect. */
const subject = v.pipe(
  v.string(subjectProblem),
  v.minLength(1, subjectProblem),
  v.maxLength(255, subjectProblem),
)
const labelProblem = 'must be one line of at most 64 characters'
const label = v.pipe(
  v.string(labelProblem),
  v.maxLength(64, labelProblem),
  // Without control and formatting characters. JSON Schema has no classes of Unicode.
  v.regex(
    /^[ -~\u00a0-\u1fff\u2010-\u2027\u2030-\u205f\u2070-\ufefe\uff00-\uffff]*$/,
    labelProblem,
  ),
)
const kind = v.picklist(['pass', 'rental'], 'must be pass or rental')

const someLimits = v.strictObject(mapLimits(() => v.optional(count)))

export const grant = v.strictObject({
  subject: described(subject, 'The holder: the `sub` claim of the identity provider'),
  kind,
  product: described(text, 'Id of a product of the configuration'),
  label: described(v.optional(label), "The operator's name for the access; default: none"),
  networks: described(v.optional(ids), 'Default: all of the product'),
  locations: described(v.optional(ids), 'Default: all of the product'),
  limits: described(v.optional(someLimits), 'Absent limits are those of the product'),
  validFromMs: described(v.optional(instantMs), 'Inclusive; default: now'),
  validUntilMs: described(v.optional(v.nullable(instantMs)), 'Exclusive; null or absent: no end'),
})

export const extension = v.strictObject({
  validUntilMs: described(v.nullable(instantMs), 'Exclusive; null: no end'),
})

export const amendment = v.strictObject({
  label: described(v.optional(label), "The operator's name for the access; empty: none"),
  networks: described(v.optional(ids), 'All that it has from now on'),
  locations: described(v.optional(ids), 'All that it has from now on'),
  limits: described(v.optional(someLimits), 'Absent limits stay as they are'),
  validUntilMs: described(v.optional(v.nullable(instantMs)), 'Exclusive; null: no end'),
})

export const restriction = v.strictObject({
  address: described(
    v.pipe(text, v.maxLength(256, 'must be at most 256 characters')),
    'One public IPv4 address; blank removes the restriction',
  ),
})

/** Most accesses in one response. */
const LIMIT_MAX = 1_000
const LIMIT_DEFAULT = '100'

const limit = v.optional(queryInteger(1, LIMIT_MAX), LIMIT_DEFAULT)

export const listQuery = v.strictObject({
  subject: described(v.optional(subject), 'Only accesses of this subject, all in one response'),
  after: described(
    v.optional(v.pipe(text, v.maxLength(64, 'must be an access id')), ''),
    'Start after this access id: `next` of the previous response',
  ),
  limit,
})

const tokenEntries = {
  network: text,
  location: text,
  tokenId: described(text, 'Identifies the token in logs; not a secret'),
  tail: described(text, 'The last four characters of the token'),
  createdAtMs: instantMs,
  address: described(v.nullable(text), 'The only IPv4 address that may use it'),
}
const secretEntries = {
  token: described(text, 'The token; it is also part of the URLs'),
  rpcUrl: text,
  wsUrl: text,
}

const token = v.object(tokenEntries)
export const revealed = v.object(secretEntries)
export const newToken = v.object({ ...tokenEntries, ...secretEntries })

export const restrictedToken = v.object({ ...tokenEntries, ...effectEntry })
export const changedToken = v.object({ ...tokenEntries, ...secretEntries, ...effectEntry })

const accessEntries = {
  accessId: text,
  subject: text,
  kind,
  state: v.picklist(['active', 'ended', 'upcoming']),
  product: text,
  label: described(text, "The operator's name for it; empty: none"),
  networks: v.array(text),
  locations: v.array(text),
  limits: v.object(mapLimits(() => count)),
  createdAtMs: instantMs,
  validFromMs: instantMs,
  validUntilMs: v.nullable(instantMs),
  endedAtMs: described(v.nullable(instantMs), 'When it was ended manually'),
  tokens: v.array(token),
  members: v.optional(memberShapes.members.entries.members),
}

export const access = v.object(accessEntries)
export const changedAccess = v.object({ ...accessEntries, ...effectEntry })

export const accesses = v.object({
  accesses: v.array(access),
  next: described(v.nullable(text), '`after` of the next page; null: no more'),
})

const dayProblem = 'must be a day like 2027-01-31'
const DAY_MS = 86_400_000
/** Days since 1970; NaN where the month has no such day. */
const toDay = (text: string): number => {
  const atMs = Date.parse(text)
  const isDay = !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text)
  return isDay ? atMs / DAY_MS : Number.NaN
}
const day = v.optional(
  v.pipe(
    v.string(dayProblem),
    v.isoDate(dayProblem),
    v.transform(toDay),
    v.number(dayProblem),
    v.integer(dayProblem),
  ),
)

export const usageQuery = v.strictObject({
  from: described(day, 'First day, of UTC; default: the oldest that is kept'),
  until: described(day, 'The day after the last one; default: with today'),
  access: described(
    v.optional(v.pipe(text, v.maxLength(64, 'must be an access id'))),
    'Only of this access',
  ),
  limit: described(limit, 'A page ends with the day that reaches this number of rows'),
})

export const usage = v.object({
  rows: v.array(
    v.object({
      day: described(text, 'Like 2027-01-31, of UTC'),
      accessId: text,
      network: text,
      location: text,
      method: described(text, 'Or `(none)`, `(connect)` or `(other)`: see docs/access.md'),
      ...methodFigures,
    }),
  ),
  next: described(v.nullable(text), '`from` of the next page; null: no more'),
  missing: described(
    v.optional(v.array(text)),
    'Of a cluster: machines that did not answer, whose counts lack',
  ),
})

const beforeProblem = 'must be a time in Unix milliseconds'

export const auditQuery = v.strictObject({
  subject: described(v.optional(subject), 'Only what this person did'),
  access: described(
    v.optional(v.pipe(text, v.maxLength(64, 'must be an access id'))),
    'Only what was done to this access',
  ),
  before: described(
    v.optional(
      v.pipe(
        v.string(beforeProblem),
        v.regex(/^\d{1,15}$/, beforeProblem),
        v.transform(Number),
        v.number(),
      ),
    ),
    'Only what is older: `next` of the previous response',
  ),
  limit,
})

export const auditEntry = v.object({
  atMs: instantMs,
  action: v.picklist(AUDIT_ACTIONS),
  by: described(
    v.nullable(text),
    '`sub` of the person; null: the holder of an admin token or an API key',
  ),
  admin: described(v.optional(text), 'Name of the admin token'),
  apiKey: described(v.optional(text), 'Id of the API key'),
  from: described(text, 'Address of the peer; that of a proxy, where one is in front'),
  accessId: v.optional(text),
  network: v.optional(text),
  location: v.optional(text),
  request: described(v.optional(v.unknown()), 'The body of the request'),
  outcome: described(
    v.optional(v.picklist(AUDIT_OUTCOMES)),
    'Where the request failed: stored and not confirmed, or stored or not',
  ),
})

export const audit = v.object({
  entries: v.array(auditEntry),
  next: described(v.nullable(instantMs), '`before` of the next page; null: no more'),
})
