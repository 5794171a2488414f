import * as v from 'valibot'
import {
  LANE_OUTCOMES,
  LEFT_OUT_REASONS,
  SUBMISSION_STATES,
  TRANSACTION_STATES,
} from '../../../shared/submission-states.js'
import { SUBMISSION_PATHS } from '../catalog.js'
import type { Awaitable, Missing } from '../answers.js'
import { missing, performance, queryInteger } from '../shape-parts.js'
import { serviceRangeQuery, step, times } from '../usage/shapes.js'

const described = <S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text))
const text = v.string('must be a text')
const count = v.pipe(v.number(), v.minValue(0))
const instantMs = described(count, 'Unix milliseconds')

/** Most submissions in one response. */
export const SUBMISSIONS_MAX = 200
const SUBMISSIONS_DEFAULT = '50'

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/
const LOCATION = /^[a-z0-9][a-z0-9-]{0,31}$/
const SUBMISSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The last instant of an id of a submission. */
const INSTANT_MAX = 2 ** 48 - 1
const queryInstant = (description: string) =>
  described(v.optional(queryInteger(0, INSTANT_MAX)), description)

export const summaryQuery = serviceRangeQuery

const filters = {
  location: described(
    v.optional(v.pipe(text, v.regex(LOCATION, 'must be the id of a location'))),
    'That received it',
  ),
  span: described(times.span, 'Milliseconds before `untilMs`, in place of `fromMs`'),
  step: described(v.optional(step), 'With `span`: as for the summary, so that both are equal'),
  fromMs: queryInstant('Received at this instant or later, in Unix milliseconds'),
  untilMs: queryInstant('Received before this instant, in Unix milliseconds'),
  route: v.optional(v.picklist(SUBMISSION_PATHS, 'must be a submission route')),
  state: v.optional(v.picklist(SUBMISSION_STATES, 'must be a state of a submission')),
  signature: v.optional(
    v.pipe(text, v.regex(SIGNATURE, 'must be the signature of a transaction, in base58')),
  ),
}

export const submissionsQuery = v.strictObject({
  limit: v.optional(queryInteger(1, SUBMISSIONS_MAX), SUBMISSIONS_DEFAULT),
  before: described(
    v.optional(v.pipe(text, v.regex(SUBMISSION_ID, 'must be the id of a submission'))),
    '`next` of the page before',
  ),
  ...filters,
})

export const exportQuery = v.strictObject({
  format: v.picklist(['csv', 'json'], 'must be csv or json'),
  before: described(
    v.optional(v.pipe(text, v.regex(SUBMISSION_ID, 'must be the id of a submission'))),
    '`next` of the export before',
  ),
  ...filters,
})

// What has a default is absent of a machine with an earlier build.
const transaction = v.object({
  signature: text,
  state: v.picklist(TRANSACTION_STATES),
  slot: described(v.nullable(count), 'The block that has it; null if it was not seen in one'),
  index: described(v.nullable(count), 'Its position in that block'),
  error: described(v.nullable(text), 'Why it failed in that block'),
  delaySlots: described(v.nullable(count), 'Slots from the receipt to that block'),
  delayMs: described(v.nullable(count), 'Milliseconds until the index had that block'),
  tips: described(
    v.optional(v.pipe(v.array(v.object({ account: text, lamports: count })), v.readonly()), []),
    'What it pays to which tip account',
  ),
})

const lane = v.object({
  lane: described(text, 'Of a race; of other routes the upstream, by its name in metrics'),
  outcome: v.picklist(LANE_OUTCOMES),
  leftOut: described(v.nullable(v.picklist(LEFT_OUT_REASONS)), 'Why it was not used'),
  writtenAfterMs: described(
    v.nullable(count),
    'Milliseconds from the receipt, of a race from its start; null if nothing was written',
  ),
  answeredAfterMs: described(v.nullable(count), 'The same until the answer'),
  status: described(v.nullable(count), 'HTTP status of the answer'),
  words: described(text, 'The beginning of the answer, or why there is none'),
})

const submission = v.object({
  submissionId: described(
    text,
    'On the relay routes as in the response header X-Relay-Submission-ID',
  ),
  network: text,
  location: text,
  route: text,
  bundleId: v.nullable(text),
  transactions: described(
    v.pipe(v.array(transaction), v.readonly()),
    'In order, each with its first signature; those that could not be read have none',
  ),
  receivedAtMs: instantMs,
  receivedSlot: described(
    v.optional(v.nullable(count), null),
    'The newest slot of the index then; null if it is not known',
  ),
  forwardedAtMs: v.nullable(instantMs),
  answeredAtMs: v.nullable(instantMs),
  checks: described(text, '`passed`, or the message of the check that failed'),
  findings: described(v.nullable(text), 'As in the response header X-Lander-Findings'),
  state: v.picklist(SUBMISSION_STATES),
  reason: described(v.nullable(text), 'Why it is not accepted, or what is not known'),
  outcome: described(text, 'What the upstream made of it'),
  error: described(v.nullable(text), 'The error of the upstream, as JSON'),
  lanes: described(
    v.optional(v.pipe(v.array(lane), v.readonly()), []),
    'What became of it on each lane; empty if nothing was sent for it',
  ),
})

const next = described(
  v.nullable(text),
  'The next page is `before` this id; null at the end of what is stored',
)

/** Part of what a search finds, newest first. */
export const submissionPage = v.object({
  submissions: v.pipe(v.array(submission), v.readonly()),
  next,
})

export const submissions = v.object({
  ...submissionPage.entries,
  missing,
  explorers: described(
    v.array(v.object({ network: text, url: text })),
    'Where transactions of a network can be looked at; `{signature}` is the place of theirs',
  ),
})

const figures = {
  ...performance,
  tippedLamports: described(count, 'Tips of those that landed'),
}
const named = (description: string) =>
  described(
    v.pipe(v.array(v.object({ name: text, ...figures })), v.readonly()),
    `${description}, those with most submissions first`,
  )

export const summary = v.object({
  fromMs: instantMs,
  untilMs: instantMs,
  total: described(v.object(figures), 'Of what was sent and has ended, by its receipt'),
  routes: named('By route'),
  locations: named('By location'),
  lanes: named('By lane; empty: several lanes of a race, so which landed them is unknown'),
  periods: described(
    v.pipe(v.array(v.object({ startMs: instantMs, ...figures })), v.readonly()),
    'Those with submissions, oldest first; by hour of what was 25 hours ago',
  ),
  missing,
})

/** A submission as the page shows it. */
export type SubmissionView = v.InferOutput<typeof submission>

/** Part of what a search finds. */
export type SubmissionPageView = v.InferOutput<typeof submissionPage>

/** Which submissions of an access are wanted. */
export type SubmissionSearch = Omit<
  v.InferOutput<typeof submissionsQuery>,
  'limit' | 'span' | 'step'
> & {
  readonly accessId: string
  readonly limit: number
}

/** Submissions of an access at its locations, newest first. */
export type Submissions = (
  search: SubmissionSearch,
  locations: readonly string[],
) => Awaitable<SubmissionPageView & Missing>

/** A search as another machine asks for it; undefined if it is none. */
export const parseSearch = (
  accessId: string,
  query: Readonly<Record<string, string | undefined>>,
): SubmissionSearch | undefined => {
  const parsed = v.safeParse(submissionsQuery, query)
  if (!parsed.success) return undefined
  const { span: _span, step: _step, ...search } = parsed.output
  return { accessId, ...search }
}
