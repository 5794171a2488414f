import * as v from 'valibot'

const described = <S extends v.GenericSchema>(schema: S, says: string) =>
  v.pipe(schema, v.description(says))

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
/** Networks and locations of one access. */
const IDS_MAX = 1_000
const ids = v.pipe(
  v.array(text, 'must be a list of ids'),
  v.maxLength(IDS_MAX, `must be at most ${IDS_MAX} ids`),
)
const subjectProblem = 'must be a text of 1 to 255 characters'
/** OpenID Connect bounds `sub` so. */
const subject = v.pipe(
  v.string(subjectProblem),
  v.minLength(1, subjectProblem),
  v.maxLength(255, subjectProblem),
)
const kind = v.picklist(['pass', 'rental'], 'must be pass or rental')

const limitEntries = {
  requestsPerSecondMax: count,
  requestsBurstMax: count,
  requestsInFlightMax: count,
  socketsMax: count,
  subscriptionsPerSocketMax: count,
}
const someLimits = v.strictObject({
  requestsPerSecondMax: v.optional(count),
  requestsBurstMax: v.optional(count),
  requestsInFlightMax: v.optional(count),
  socketsMax: v.optional(count),
  subscriptionsPerSocketMax: v.optional(count),
})

export const grant = v.strictObject({
  subject: described(subject, 'Who holds it, as the identity provider names them (`sub`)'),
  kind,
  product: described(text, 'Id of a product of the configuration'),
  networks: described(v.optional(ids), 'Absent: all of the product'),
  locations: described(v.optional(ids), 'Absent: all of the product'),
  limits: described(v.optional(someLimits), 'What is absent is as the product has it'),
  validFromMs: described(v.optional(instantMs), 'Inclusive; absent: now'),
  validUntilMs: described(
    v.optional(v.nullable(instantMs)),
    'Exclusive; null or absent: without end',
  ),
})

export const extension = v.strictObject({
  validUntilMs: described(v.nullable(instantMs), 'Exclusive; null: without end'),
})

export const restriction = v.strictObject({
  address: described(
    v.pipe(text, v.maxLength(256, 'must be at most 256 characters')),
    'One public IPv4 address; blank lifts the restriction',
  ),
})

/** Accesses in one answer. */
const LIMIT_MAX = 1_000
const LIMIT_DEFAULT = '100'
const limitProblem = `must be an integer from 1 to ${LIMIT_MAX}`

export const listQuery = v.strictObject({
  subject: described(v.optional(subject), 'Whose; all of them in one answer'),
  after: described(
    v.optional(v.pipe(text, v.maxLength(64, 'must be an access id')), ''),
    'Begin after this access id: `next` of the answer before',
  ),
  limit: v.optional(
    v.pipe(
      v.string(limitProblem),
      v.regex(/^[1-9]\d{0,3}$/, limitProblem),
      v.transform(Number),
      v.number(),
      v.integer(),
      v.minValue(1, limitProblem),
      v.maxValue(LIMIT_MAX, limitProblem),
    ),
    LIMIT_DEFAULT,
  ),
})

const tokenEntries = {
  network: text,
  location: text,
  tokenId: described(text, 'Names the token in logs, and opens nothing'),
  tail: described(text, 'The last four characters of the token'),
  createdAtMs: instantMs,
  address: described(v.nullable(text), 'The one IPv4 address that may use it'),
}
const secretEntries = {
  token: described(text, 'The token itself; the URLs hold it, too'),
  rpcUrl: text,
  wsUrl: text,
}

export const token = v.object(tokenEntries)
export const revealed = v.object(secretEntries)
export const newToken = v.object({ ...tokenEntries, ...secretEntries })

export const access = v.object({
  accessId: text,
  subject: text,
  kind,
  state: v.picklist(['active', 'ended', 'upcoming']),
  product: text,
  networks: v.array(text),
  locations: v.array(text),
  limits: v.object(limitEntries),
  createdAtMs: instantMs,
  validFromMs: instantMs,
  validUntilMs: v.nullable(instantMs),
  endedAtMs: described(v.nullable(instantMs), 'When it was ended by hand'),
  tokens: v.array(token),
})

export const accesses = v.object({
  accesses: v.array(access),
  next: described(v.nullable(text), 'Where the next page begins; null: there is none'),
})
