import * as v from 'valibot'
import { delayOf } from './changes.js'
import { stateOf } from './state.js'
import {
  isInBlock,
  isSettled,
  SUBMISSION_ROUTES,
  type LaneReport,
  type Submission,
  type SubmissionRoute,
} from './submission.js'

/**
 * How a submission that was sent ended. `refused`: by the upstream, and no block has it. `expired`,
 * `replaced`: no block can have it any more. `unseen`: it is not known whether it landed.
 */
const SUBMISSION_ENDS = [
  'landed',
  'failed',
  'partlyLanded',
  'expired',
  'replaced',
  'refused',
  'unseen',
] as const

const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const text = v.string()

export const endSchema = v.object({
  accessId: text,
  network: text,
  location: text,
  route: v.picklist(SUBMISSION_ROUTES),
  /** What carried it; empty where several lanes did, or it is not known which. */
  lane: text,
  receivedAtMs: count,
  /** What it offers to which tip address. */
  tips: v.array(v.object({ account: text, lamports: count })),
  end: v.picklist(SUBMISSION_ENDS),
  /** From its receipt to the block of the last of its transactions; null where not known. */
  delaySlots: v.nullable(count),
  delayMs: v.nullable(count),
})

/** What is counted of a submission of which nothing more is expected. */
export type SubmissionEnd = Readonly<v.InferOutput<typeof endSchema>>
type Word = SubmissionEnd['end']

/** The names that their upstreams have in metrics. */
const LANES = {
  '/lander': 'lander',
  '/lander-submit-bundle': 'lander',
  '/lander-submit-batch': 'lander',
  '/send': 'lander',
  '/relay': 'relay',
  '/relay-bundle': 'relayBundle',
} as const satisfies Record<Exclude<SubmissionRoute, '/race'>, string>

/** Those of the upstreams of routes, which no lane of a race may have. */
export const ROUTE_LANES: ReadonlySet<string> = new Set(Object.values(LANES))

/** What carries the submissions of a route; null where each has lanes of its own. */
export const laneOfRoute = (route: SubmissionRoute): string | null =>
  route === '/race' ? null : LANES[route]

/** Every lane that may have it: whichever landed it cannot be known from the chain. */
const wasWritten = ({ outcome }: LaneReport): boolean =>
  outcome !== 'left-out' && outcome !== 'unreachable'

/** Undefined where nothing was sent, or lanes have not ended. */
const laneOf = ({ lanes, route }: Submission, isOver: boolean): string | undefined => {
  if (route !== '/race') return LANES[route]
  if (lanes === undefined) return ''
  if (!isOver && lanes.some(({ outcome }) => outcome === 'pending')) return undefined
  const [first, ...others] = lanes.filter(wasWritten)
  return others.length > 0 ? '' : first?.lane
}

const WORDS: Readonly<Record<string, Word>> = {
  final: 'landed',
  failed: 'failed',
  'partly-landed': 'partlyLanded',
  expired: 'expired',
  replaced: 'replaced',
  refused: 'refused',
}

/** Undefined as long as more may become known. */
const wordOf = (submission: Submission, isOver: boolean): Word | undefined => {
  const { forwardedAtMs, landing, outcome, receivedAtMs: nowMs, signatures } = submission
  if (outcome === 'invalid' || outcome === 'unreachable') return undefined
  if (outcome === 'full') return forwardedAtMs === null ? undefined : 'refused'
  const isEnded =
    outcome !== 'pending' &&
    landing?.transactions.length === signatures.length &&
    landing.transactions.every(isSettled)
  if (isEnded) return WORDS[stateOf(submission, { nowMs, awaitedMs: Infinity })] ?? 'unseen'
  return isOver ? 'unseen' : undefined
}

const delaysOf = (
  submission: Submission,
  word: Word,
): Pick<SubmissionEnd, 'delaySlots' | 'delayMs'> => {
  const blocks = word === 'landed' ? (submission.landing?.transactions ?? []) : []
  const delays = blocks.filter(isInBlock).map(block => delayOf(submission, block))
  const last = (all: readonly (number | null)[]): number | null =>
    all.length === 0 || all.includes(null) ? null : Math.max(...all.map(Number))
  return {
    delaySlots: last(delays.map(({ delaySlots }) => delaySlots)),
    delayMs: last(delays.map(({ delayMs }) => delayMs)),
  }
}

/**
 * How a submission ended that was sent itself and whose transactions are known. Undefined of any
 * other one, and as long as more may become known of it, which it does not if `isOver`.
 */
export const endOf = (submission: Submission, isOver = false): SubmissionEnd | undefined => {
  const { accessId, joined, location, network, receivedAtMs, route, signatures } = submission
  if (joined !== null || signatures.length === 0) return undefined
  const lane = laneOf(submission, isOver)
  const end = lane === undefined ? undefined : wordOf(submission, isOver)
  if (lane === undefined || end === undefined) return undefined
  const tips = (submission.tips ?? []).flat()
  const delays = delaysOf(submission, end)
  return { accessId, network, location, route, lane, receivedAtMs, tips, end, ...delays }
}

/** The end that a submission has reached since it was as `before`, once for each. */
export const endSince = (
  before: Submission | undefined,
  submission: Submission,
): SubmissionEnd | undefined => {
  const end = endOf(submission)
  return end === undefined || (before !== undefined && endOf(before) !== undefined)
    ? undefined
    : end
}
