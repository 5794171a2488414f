import * as v from 'valibot'

const text = v.string()
/** Unix milliseconds. */
const instantMs = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The relay routes, by the path that follows the token. */
export const RELAY_ROUTES = ['/relay', '/relay-bundle'] as const
export type RelayRoute = (typeof RELAY_ROUTES)[number]

/**
 * What became of a submission. `pending`: forwarded and not yet answered; of an edge that died with
 * it, `unknown`. `invalid`: refused by a check of ours. `refused`: by the engine. `full`: no
 * capacity, here or there. `unreachable`: nothing was sent. `unknown`: sent, and no answer that
 * could be understood.
 */
const OUTCOMES = [
  'pending',
  'accepted',
  'invalid',
  'refused',
  'full',
  'unreachable',
  'unknown',
] as const

/** How a submission is stored. */
export const submissionSchema = v.object({
  accessId: text,
  tokenId: text,
  network: text,
  location: text,
  route: v.picklist(RELAY_ROUTES),
  /** Null where a member has no signature to make it of. */
  bundleId: v.nullable(text),
  /** First signature of each member, in order. */
  signatures: v.pipe(v.array(text), v.readonly()),
  receivedAtMs: instantMs,
  /** `passed`, or the words of the check that failed. */
  checks: text,
  /**
   * The submission of the same bundle whose answer this one shares; then nothing was forwarded for
   * this one.
   */
  joined: v.nullable(text),
  forwardedAtMs: v.nullable(instantMs),
  answeredAtMs: v.nullable(instantMs),
  outcome: v.picklist(OUTCOMES),
  /** The engine's `result` or `error`, as JSON. */
  result: v.nullable(text),
  error: v.nullable(text),
  /** What the engine said, the beginning of it. */
  engine: v.nullable(v.object({ status: v.number(), words: text })),
})

/** One submission to a relay route, as the store keeps it. */
export type Submission = Readonly<v.InferOutput<typeof submissionSchema>>

/** How another machine of the cluster answers. */
export const foundSubmissionSchema = v.object({ submission: submissionSchema })

/** How a submission ended, which is all that was not known of it when it began. */
export type Ending = Pick<
  Submission,
  'outcome' | 'result' | 'error' | 'engine' | 'forwardedAtMs' | 'answeredAtMs'
>
