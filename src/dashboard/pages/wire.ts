import * as v from 'valibot'

const text = v.string()
const count = v.number()
/** Unix milliseconds. */
const instantMs = v.number()
const named = v.object({ id: text, name: text })

const limits = v.object({
  requestsPerSecondMax: count,
  requestsBurstMax: count,
  requestsInFlightMax: count,
  socketsMax: count,
  subscriptionsPerSocketMax: count,
})

const access = v.object({
  accessId: text,
  kind: v.picklist(['pass', 'rental']),
  state: v.picklist(['active', 'ended', 'upcoming']),
  product: v.object({ id: text, name: text, kind: text }),
  networks: v.array(named),
  locations: v.array(named),
  limits,
  validFromMs: instantMs,
  validUntilMs: v.nullable(instantMs),
  endedAtMs: v.nullable(instantMs),
  tokens: v.array(v.object({ network: text, location: text })),
})

const token = v.object({
  tokenId: text,
  masked: text,
  createdAtMs: instantMs,
  address: v.nullable(text),
})

const activePanel = v.object({
  token,
  rpcUrl: text,
  wsUrl: text,
  streamingTargets: v.array(v.object({ name: text, url: text })),
})

const submission = v.object({
  location: text,
  route: text,
  bundleId: v.nullable(text),
  signatures: v.array(text),
  receivedAtMs: instantMs,
  checks: text,
  answeredAtMs: v.nullable(instantMs),
  outcome: text,
  error: v.nullable(text),
})

/** What each answer of the dashboard's API must look like before the page shows any of it. */
export const WIRE = {
  session: v.object({ email: text, name: text, expiresAtMs: instantMs }),
  accesses: v.object({ accesses: v.array(access) }),
  panel: v.union([activePanel, v.object({ token: v.null() })]),
  secret: v.object({ token: text, rpcUrl: text, wsUrl: text }),
  placeUsage: v.object({
    minutes: v.array(
      v.object({
        startMs: instantMs,
        requests: count,
        errors: count,
        rateLimited: count,
        refused: count,
      }),
    ),
    refused: v.array(v.object({ atMs: instantMs, address: text, reason: text })),
  }),
  accessUsage: v.object({
    limits,
    requestsPerSecond: count,
    requestsInFlight: count,
    sockets: count,
  }),
  submissions: v.object({ submissions: v.array(submission) }),
  failure: v.object({ error: v.object({ code: v.union([text, count]), message: text }) }),
} as const

export type Session = v.InferOutput<typeof WIRE.session>
export type Access = v.InferOutput<typeof access>
export type Panel = v.InferOutput<typeof WIRE.panel>
export type ActivePanel = v.InferOutput<typeof activePanel>
/** The token itself and its URLs: shown and copied, never kept longer than its panel. */
export type TokenSecret = v.InferOutput<typeof WIRE.secret>
export type PlaceUsage = v.InferOutput<typeof WIRE.placeUsage>
export type UsageMinute = PlaceUsage['minutes'][number]
export type AccessUsage = v.InferOutput<typeof WIRE.accessUsage>
export type Submission = v.InferOutput<typeof submission>
