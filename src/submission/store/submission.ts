import * as v from 'valibot'
import { LANE_OUTCOMES, LEFT_OUT_REASONS } from '../../shared/submission-states.js'

const text = v.string()
/** Unix milliseconds. */
const instantMs = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The relay routes, by the path that follows the token. */
export const RELAY_ROUTES = ['/relay', '/relay-bundle'] as const
export type RelayRoute = (typeof RELAY_ROUTES)[number]

/** The lander routes, by the path that follows the token. */
export const LANDER_ROUTES = [
  '/lander',
  '/lander-submit-bundle',
  '/lander-submit-batch',
  '/send',
  '/race',
] as const
export type LanderRoute = (typeof LANDER_ROUTES)[number]

/** Those of one transaction, as bytes or text, which is sent once. */
const TRANSACTION_ROUTES = ['/send', '/race'] as const satisfies readonly LanderRoute[]
export type TransactionRoute = (typeof TRANSACTION_ROUTES)[number]

export const isTransactionRoute = (route: string): route is TransactionRoute =>
  TRANSACTION_ROUTES.some(one => one === route)

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

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/**
 * How a transaction ended that no block has: `expired`: no block can have it any more. `replaced`:
 * the durable nonce that it names was advanced without it. `unseen`: it is not known whether it
 * landed.
 */
const FATE_ENDS = ['expired', 'replaced', 'unseen'] as const

const inBlockSchema = v.object({
  slot: count,
  /** Its position in the block; null where the index does not know it. */
  index: v.nullable(count),
  /** The chain's error, as JSON; null is success. */
  error: v.nullable(text),
  isFinal: v.boolean(),
  /** When it was first seen in this block; null where that was before this was looked for. */
  seenAtMs: v.nullable(instantMs),
})

const landingSchema = v.object({
  /** In the order of the signatures; null of one that may still land. */
  transactions: v.pipe(
    v.array(
      v.nullable(
        v.union([inBlockSchema, v.object({ end: v.picklist(FATE_ENDS), seenAtMs: instantMs })]),
      ),
    ),
    v.readonly(),
  ),
})

/** What the index knows of the transactions of a submission. */
export type Landing = Readonly<v.InferOutput<typeof landingSchema>>

/** What the index knows of one transaction. */
export type Fate = Landing['transactions'][number]

/** A block that has a transaction. */
export type InBlock = Readonly<v.InferOutput<typeof inBlockSchema>>

export const isInBlock = (fate: Fate | undefined): fate is InBlock =>
  fate !== null && fate !== undefined && 'slot' in fate

/** Whether nothing more is expected of a transaction. */
export const isSettled = (fate: Fate | undefined): boolean =>
  fate !== null && fate !== undefined && (!isInBlock(fate) || fate.isFinal)

const toldSchema = v.object({
  forwardedAtMs: v.nullable(instantMs),
  outcome: v.picklist(SUBMISSION_OUTCOMES),
  landing: v.optional(landingSchema),
})

/** What events have told of a submission. */
export type Told = Readonly<v.InferOutput<typeof toldSchema>>

const afterMs = v.nullable(v.pipe(v.number(), v.minValue(0)))

const laneSchema = v.object({
  lane: text,
  outcome: v.picklist(LANE_OUTCOMES),
  /** Why it was not used. */
  leftOut: v.optional(v.picklist(LEFT_OUT_REASONS)),
  /** Milliseconds from the start of the race; null where it has not come to that. */
  writtenAfterMs: afterMs,
  answeredAfterMs: afterMs,
  status: v.optional(count),
  /** Whether an acceptance named the signature. */
  hasSignature: v.optional(v.boolean()),
  /** The beginning of the answer, or why there is none. */
  words: v.optional(text),
})

/** What became of a race on one lane. */
export type LaneReport = Readonly<v.InferOutput<typeof laneSchema>>
export type LaneReports = readonly LaneReport[]

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
  /** The durable nonce of each of these; null of a blockhash. Absent where none has one. */
  nonces: v.optional(
    v.pipe(v.array(v.nullable(v.object({ account: v.nullable(text), value: text }))), v.readonly()),
  ),
  /** What each of these pays to which tip address. Absent where none does, or it is not known. */
  tips: v.optional(
    v.pipe(
      v.array(v.pipe(v.array(v.object({ account: text, lamports: count })), v.readonly())),
      v.readonly(),
    ),
  ),
  receivedAtMs: instantMs,
  /** The newest slot of the index then; absent where there was none. */
  receivedSlot: v.optional(count),
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
  /** The lanes of a race, used or not. Absent of other routes. */
  lanes: v.optional(v.pipe(v.array(laneSchema), v.readonly())),
  /** Absent until the index has been asked. */
  landing: v.optional(landingSchema),
  /** Set while its last changes are in no event yet: what it was in the last one, null for none. */
  untold: v.optional(v.nullable(toldSchema)),
})

/** One submission, as the store keeps it. */
export type Submission = Readonly<v.InferOutput<typeof submissionSchema>>

/** A submission with its id. */
export type StoredSubmission = { readonly id: Uint8Array; readonly submission: Submission }

/** How another machine of the cluster answers. */
export const foundSubmissionSchema = v.object({ submissionId: text, submission: submissionSchema })

/** A submission that another process or machine has found. */
export type FoundSubmission = Readonly<v.InferOutput<typeof foundSubmissionSchema>>

/** How a submission ended, which is all that was not known of it when it began. */
export type Ending = Pick<
  Submission,
  'outcome' | 'result' | 'error' | 'engine' | 'lanes' | 'forwardedAtMs' | 'answeredAtMs'
>
