import * as v from 'valibot'
import { ACCESS_ROLES } from '../../access/store/member-shape.js'
import { SUBMISSION_PATHS } from './catalog.js'
import { effect, effectEntry } from './effect-shape.js'
import { count, described, instantMs, limits, missing, queryInteger, text } from './shape-parts.js'

const named = v.object({ id: text, name: text })

export const session = v.object({
  subject: described(text, 'The `sub` claim of the identity provider'),
  email: described(text, 'Empty if the provider has none'),
  isEmailVerified: described(
    v.boolean(),
    'Whether the provider says so; else the person is a member of nothing',
  ),
  name: text,
  expiresAtMs: instantMs,
  recentUntilMs: described(
    count,
    'Until when tokens can be revealed and regenerated without another sign-in',
  ),
  isOperator: described(v.boolean(), 'Whether the person sees the page of operators'),
})

export const signedOut = v.object({
  providerUrl: described(
    v.nullable(text),
    'Where to go to end the session of the identity provider as well; null if there is no such page',
  ),
})

export const accesses = v.object({
  accesses: v.array(
    v.object({
      accessId: text,
      role: described(
        v.picklist(ACCESS_ROLES),
        'What the person may do: `owner`, or the role of a member',
      ),
      kind: v.picklist(['pass', 'rental']),
      state: v.picklist(['active', 'ended', 'upcoming']),
      product: v.object({ id: text, name: text, kind: text }),
      label: described(text, 'What the holder calls it; empty: nothing'),
      networks: v.array(named),
      locations: v.array(named),
      limits,
      validFromMs: instantMs,
      validUntilMs: v.nullable(instantMs),
      endedAtMs: v.nullable(instantMs),
      tokens: described(
        v.array(v.object({ network: text, location: text })),
        'Networks and locations with an active token',
      ),
    }),
  ),
  hasMachines: described(v.optional(v.boolean()), 'Whether the service is a cluster'),
  docsUrl: described(v.optional(text), 'Where the documentation is, if the operator says so'),
})

const token = v.object({
  tokenId: described(text, 'Identifies the token in logs; not a secret'),
  masked: described(text, 'Masked, except for the last four characters'),
  createdAtMs: instantMs,
  address: described(v.nullable(text), 'The only IPv4 address that may use it'),
  former: described(
    v.nullable(v.object({ tail: text, endsAtMs: instantMs })),
    'The former token, which works until then; null: there is none',
  ),
})

const OVERLAP_SECONDS_MAX = 3_600
const overlapProblem = `must be an integer from 0 to ${OVERLAP_SECONDS_MAX}`

export const regeneration = v.optional(
  v.strictObject({
    overlapSeconds: described(
      v.optional(
        v.pipe(
          v.number(overlapProblem),
          v.integer(overlapProblem),
          v.minValue(0, overlapProblem),
          v.maxValue(OVERLAP_SECONDS_MAX, overlapProblem),
        ),
        0,
      ),
      'How long the former token works beside the new one; absent: it is invalid at once',
    ),
  }),
  {},
)

const urls = { rpcUrl: text, wsUrl: text }

const tip = v.object({
  payee: v.picklist(['lander', 'lane', 'service', 'engine']),
  lamportsMin: count,
  accounts: described(v.pipe(v.array(text), v.readonly()), 'A tip to any of them counts'),
})

const activePanel = v.object({
  token,
  ...urls,
  streamingTargets: v.array(
    v.object({
      name: text,
      url: text,
      authentication: described(v.optional(text), 'How clients authenticate there'),
    }),
  ),
  submissionRoutes: described(
    v.array(
      v.object({
        path: described(v.picklist(SUBMISSION_PATHS), 'What follows the RPC URL'),
        tips: v.pipe(v.array(tip), v.readonly()),
      }),
    ),
    'Routes of the network for transactions, with the tips that a submission pays',
  ),
})

export const panel = v.union([activePanel, v.object({ token: v.null() })])

export const restrictedPanel = v.object({ ...activePanel.entries, ...effectEntry })

export const newToken = v.object({
  ...activePanel.entries,
  secret: described(text, 'The token; it is also part of the URLs'),
})

export const changedToken = v.object({ ...newToken.entries, ...effectEntry })

export const revealed = v.object({ token: described(text, 'The token'), ...urls })

export const checked = v.object({
  status: described(v.nullable(count), 'HTTP status of the answer; null: there was none'),
  elapsedMs: count,
  slot: described(v.nullable(count), 'Of the answer; null if the location returned no blockhash'),
  blockhash: v.nullable(text),
  message: described(v.nullable(text), 'Of the error that was answered; null if there is none'),
})

export const restriction = v.strictObject({
  address: described(
    v.pipe(text, v.maxLength(256, 'must be at most 256 characters')),
    'One public IPv4 address; blank removes the restriction',
  ),
})

export const address = v.object({
  address: text,
  isRestrictable: described(v.boolean(), 'Whether it is one public IPv4 address'),
})

export const usageMinute = {
  startMs: instantMs,
  requests: count,
  errors: count,
  rateLimited: count,
  refused: count,
}

const MINUTES_MAX = 1_440

export const tokenUsageQuery = v.strictObject({
  minutes: described(
    v.optional(queryInteger(0, MINUTES_MAX), String(MINUTES_MAX)),
    'How many of the newest minutes are answered',
  ),
})

export const tokenUsage = v.object({
  minutes: v.array(v.object(usageMinute)),
  refused: v.array(v.object({ atMs: instantMs, address: text, reason: text })),
  replaced: described(
    v.pipe(
      v.array(
        v.object({
          tail: described(text, 'The last characters of the token'),
          address: text,
          lastSeenMs: instantMs,
          today: described(count, 'Attempts in this day of UTC'),
        }),
      ),
      v.readonly(),
    ),
    'Attempts in these 24 hours with tokens that were regenerated or revoked in the last 30 days',
  ),
  missing,
})

const client = { address: text, lastSeenMs: instantMs }

export const clientsQuery = v.strictObject({
  address: v.optional(v.pipe(text, v.maxLength(256, 'must be at most 256 characters')), ''),
})

export const clients = v.object({
  clients: described(
    v.array(
      v.object({
        ...client,
        isRefused: described(v.boolean(), 'Whether a restriction to the address would refuse it'),
      }),
    ),
    'Addresses from which requests were admitted in the last 24 hours, newest first, 64 at most',
  ),
  missing,
})

/** Of a change of a token in a cluster: all of the answer that the page shows. */
export const withEffect = v.optional(v.object(effectEntry))
export const removal = v.optional(effect)

export const machines = v.object({
  machines: v.array(
    v.object({
      id: text,
      location: text,
      slots: v.pipe(
        v.array(
          v.object({
            network: text,
            slot: count,
            lag: described(count, 'Slots behind the best machine of its location'),
          }),
        ),
        v.readonly(),
      ),
      leaseMs: described(
        v.nullable(count),
        'What is left of its lease at least; null shortly after a start',
      ),
      revision: described(v.nullable(count), 'All changes up to it are in effect'),
      version: v.nullable(text),
      state: described(
        text,
        'The state that its `/health` reports; `unreachable`, `broken` or `not-started`',
      ),
    }),
  ),
})

export const locations = v.object({
  locations: v.array(
    v.object({
      id: text,
      url: described(v.nullable(text), 'Where it is reached, such as for `GET <url>/ping`'),
      state: described(
        text,
        'As `/health` reports it; of a cluster that of the best machine of the location',
      ),
      slots: v.pipe(
        v.array(
          v.object({
            network: text,
            slot: count,
            lag: described(
              v.nullable(count),
              'Slots behind the best location; null on a machine by itself',
            ),
          }),
        ),
        v.readonly(),
      ),
    }),
  ),
})

export const failure = v.object({
  error: v.object({ code: described(text, 'A name from docs/errors.md'), message: text }),
  effect: described(
    v.optional(effect),
    'In a cluster, with noToken as the answer to a change: what is in effect',
  ),
})

export const signInQuery = v.strictObject({
  prompt: v.optional(v.picklist(['login'], 'must be login')),
})

/** A machine of a cluster as the page shows it. */
export type MachineView = v.InferOutput<typeof machines>['machines'][number]

/** A location as the page shows it. */
export type LocationView = v.InferOutput<typeof locations>['locations'][number]
