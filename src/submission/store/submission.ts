import * as v from 'valibot'

const text = v.string()
/** Unix milliseconds. */
const instantMs = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The relay routes, by the path that follows the token. */
export const RELAY_ROUTES = ['/relay', '/relay-bundle'] as const
export type RelayRoute = (typeof RELAY_ROUTES)[number]

/** The lander routes, by the path that follows the token. */
export const LANDER_ROUTES = ['/lander', '/lander-submit-bundle', '/lander-submit-batch'] as const
export type LanderRoute = (typeof LANDER_ROUTES)[number]

/** Every route that takes submissions. */
export const SUBMISSION_ROUTES = [...LANDER_ROUTES, ...RELAY_ROUTES] as const
export type SubmissionRoute = (typeof SUBMISSION_ROUTES)[number]

export const isLanderRoute = (route: SubmissionRoute): route is LanderRoute =>
  LANDER_ROUTES.some(one => one === route)

/**
 * What the upstream made of a submission. `pending`: forwarded and not yet answered; of an edge
 * that died with it, `unknown`. `invalid`: refused by a check of ours. `refused`: by the engine or
 * the lander. `full`: no capacity, here or there. `unreachable`: nothing was sent. `unknown`: sent,
 * and no answer that could be understood.
 */
export const SUBMISSION_OUTCOMES = [
  'pending',
  'accepted',
  'invalid',
  'refused',
  'full',
  'unreachable',
  'unknown',
] as const

/**
 * What is known of transactions in blocks. `waiting`: at least one may still land. `settled`: each
 * is in a block. `expired`: none of the others can land any more. `unseen`: it is not known whether
 * the others landed.
 */
const LANDING_STATES = ['waiting', 'settled', 'expired', 'unseen'] as const

const landingSchema = v.object({
  state: v.picklist(LANDING_STATES),
  /** In the order of the signatures; null of one that was not seen. */
  transactions: v.pipe(
    v.array(
      v.nullable(
        v.object({
          slot: v.pipe(v.number(), v.integer(), v.minValue(0)),
          /** The chain's error, as JSON; null is success. */
          error: v.nullable(text),
        }),
      ),
    ),
    v.readonly(),
  ),
})

/** What the index knows of the transactions of a submission. */
export type Landing = Readonly<v.InferOutput<typeof landingSchema>>

/** How a submission is stored. */
export const submissionSchema = v.object({
  accessId: text,
  tokenId: text,
  network: text,
  location: text,
  route: v.picklist(SUBMISSION_ROUTES),
  /** Null where a member has no signature to make it of. */
  bundleId: v.nullable(text),
  /** First signature of each member, in order. */
  signatures: v.pipe(v.array(text), v.readonly()),
  /** The blockhash of each of these; null of a durable nonce. Absent of older builds. */
  blockhashes: v.optional(v.pipe(v.array(v.nullable(text)), v.readonly())),
  receivedAtMs: instantMs,
  /** `passed`, or the words of the check that failed. */
  checks: text,
  /**
   * The submission of the same bundle whose outcome this one shares; then nothing was forwarded for
   * this one.
   */
  joined: v.nullable(text),
  forwardedAtMs: v.nullable(instantMs),
  answeredAtMs: v.nullable(instantMs),
  outcome: v.picklist(SUBMISSION_OUTCOMES),
  /** The engine's `result` or `error`, as JSON. */
  result: v.nullable(text),
  error: v.nullable(text),
  /** What the engine said, the beginning of it. */
  engine: v.nullable(v.object({ status: v.number(), words: text })),
  /** Likely problems that were reported with the reply, as in `X-Lander-Findings`. */
  findings: v.optional(text),
  /** Absent until the index has been asked. */
  landing: v.optional(landingSchema),
})

/** One submission, as the store keeps it. */
export type Submission = Readonly<v.InferOutput<typeof submissionSchema>>

/** A submission with its id. */
export type StoredSubmission = { readonly id: Uint8Array; readonly submission: Submission }

/** How another machine of the cluster answers. */
export const foundSubmissionSchema = v.object({ submission: submissionSchema })

/** How a submission ended, which is all that was not known of it when it began. */
export type Ending = Pick<
  Submission,
  'outcome' | 'result' | 'error' | 'engine' | 'forwardedAtMs' | 'answeredAtMs'
>
