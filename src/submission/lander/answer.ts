import { isMap, parseJson } from '../../shared/values.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { UpstreamReply } from '../../upstream/reply.js'
import { readEngineAnswer, type EngineAnswer } from '../relay/engine-answer.js'
import type { LanderRoute } from '../store/submission.js'

/** What a lander answered, or how it did not. */
export type LanderAnswer = UpstreamReply | UpstreamFailure['kind']

/** Longer answers are not parsed: real ones are one line. */
const PARSED_BYTES_MAX = 16 * 1024
/** The part of such an answer that is kept. */
const WORDS_BYTES_MAX = 1_024

const UNANSWERED = { result: null, error: null, engine: null } as const

/** How a submission ended where the lander gave no answer. */
const FAILURES = {
  unreachable: { ...UNANSWERED, outcome: 'unreachable' },
  'no-response': { ...UNANSWERED, outcome: 'unknown' },
  full: { ...UNANSWERED, outcome: 'full' },
} as const satisfies Record<UpstreamFailure['kind'], EngineAnswer>

const toCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** Reads the counts that answer a batch; undefined where the answer is none. */
const readCounts = (answer: EngineAnswer, text: string): EngineAnswer | undefined => {
  const parsed = parseJson(text)
  if (!isMap(parsed)) return undefined
  const { attempted, accepted, parse_error: problem } = parsed
  const [all, good] = [toCount(attempted), toCount(accepted)]
  if (all === undefined || good === undefined) return undefined
  const { engine } = answer
  const result = JSON.stringify({ attempted: all, accepted: good })
  if (good > 0 && good === all) return { outcome: 'accepted', result, error: null, engine }
  const why = typeof problem === 'string' && problem !== '' ? `: ${problem}` : ''
  const message = `${good} of ${all} transactions accepted${why}`.slice(0, WORDS_BYTES_MAX)
  const outcome = good > 0 ? 'accepted' : 'refused'
  return { outcome, result, error: JSON.stringify({ message }), engine }
}

/** How a submission ended, as the lander's answer says. The answer itself is passed on unread. */
export const readLanderAnswer = (route: LanderRoute, answer: LanderAnswer): EngineAnswer => {
  if (typeof answer === 'string') return FAILURES[answer]
  const { body, status } = answer
  if (body.length > PARSED_BYTES_MAX) {
    const words = `${body.toString('utf8', 0, WORDS_BYTES_MAX)}…`
    return { outcome: 'unknown', result: null, error: null, engine: { status, words } }
  }
  const read = readEngineAnswer(answer)
  const counts = route === '/lander-submit-batch' ? readCounts(read, body.toString()) : undefined
  return counts === undefined || read.outcome === 'full' ? read : counts
}
