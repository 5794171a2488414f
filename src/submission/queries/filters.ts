import { RpcError } from '../../shared/errors.js'
import { isAbsent, type Members } from '../../shared/values.js'
import type { SubmissionFilter } from '../store/search.js'
import { SUBMISSION_STATES } from '../../shared/submission-states.js'
import { earlierId, firstIdAt, parseId } from '../store/submission-id.js'
import { SUBMISSION_ROUTES } from '../store/submission.js'

/** Submissions of one page. */
const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
/** The last instant of an id. */
const INSTANT_MAX = 2 ** 48 - 1

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/

/** Whether a text can be a signature. */
export const isSignature = (text: string): boolean => SIGNATURE.test(text)

/** What one call asks for. */
export type PageQuery = {
  readonly filter: Omit<SubmissionFilter, 'accessId' | 'network'>
  /** Ids between which it searches. */
  readonly before: Uint8Array | undefined
  readonly from: Uint8Array | undefined
  readonly limit: number
}

const read = <T>(
  members: Members,
  name: string,
  expected: string,
  check: (value: unknown) => T | undefined,
): T | undefined => {
  const value = members[name]
  if (isAbsent(value)) return undefined
  const checked = check(value)
  if (checked === undefined) throw new RpcError('submissionFilter', { name, expected })
  return checked
}

const toInteger =
  (min: number, max: number) =>
  (value: unknown): number | undefined =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? value
      : undefined

const oneOf =
  <T extends string>(names: readonly T[]) =>
  (value: unknown): T | undefined =>
    names.find(name => name === value)

const HOUR_MS = 3_600_000
/** Most hours of a call of `getLanePerformance`: added up, and each by itself. */
const HOURS_MAX = { range: 744, hour: 24 } as const
const LANE = /^[a-zA-Z0-9-]{1,32}$/

/** Which hours one call of `getLanePerformance` asks for, and of which lane. */
export type PerformanceQuery = {
  /** Hours since 1970, up to but not including the second. */
  readonly from: number
  readonly until: number
  readonly isByHour: boolean
  readonly lane: string | undefined
}

/** Checks the options of `getLanePerformance`. */
export const toPerformanceQuery = (members: Members, nowMs: number): PerformanceQuery => {
  const instant = toInteger(0, INSTANT_MAX)
  const grains = Object.keys(HOURS_MAX) as (keyof typeof HOURS_MAX)[]
  const grain = read(members, 'grain', `one of ${grains.join(', ')}`, oneOf(grains)) ?? 'range'
  const lane = read(members, 'lane', 'the name of a lane', value =>
    typeof value === 'string' && LANE.test(value) ? value : undefined,
  )
  const untilMs = read(members, 'untilMs', 'Unix milliseconds', instant) ?? nowMs
  const until = Math.ceil(untilMs / HOUR_MS)
  const hoursMax = HOURS_MAX[grain]
  const fromMs = read(members, 'fromMs', 'Unix milliseconds', instant)
  const from = fromMs === undefined ? Math.max(0, until - 24) : Math.floor(fromMs / HOUR_MS)
  const isBefore = from < until && (fromMs === undefined || fromMs < untilMs)
  if (!isBefore || until - from > hoursMax)
    throw new RpcError('submissionFilter', {
      name: 'fromMs',
      expected: `before \`untilMs\`, in at most ${hoursMax} hours with it`,
    })
  return { from, until, isByHour: grain === 'hour', lane }
}

/** Checks the options of `getSubmissions`. */
export const toPageQuery = (members: Members): PageQuery => {
  const instant = toInteger(0, INSTANT_MAX)
  const until = read(members, 'untilMs', 'Unix milliseconds', instant)
  const fromMs = read(members, 'fromMs', 'Unix milliseconds', instant)
  const before = read(members, 'before', 'the `next` of a page', value =>
    typeof value === 'string' ? parseId(value) : undefined,
  )
  return {
    filter: {
      route: read(
        members,
        'route',
        `one of ${SUBMISSION_ROUTES.join(', ')}`,
        oneOf(SUBMISSION_ROUTES),
      ),
      state: read(
        members,
        'state',
        `one of ${SUBMISSION_STATES.join(', ')}`,
        oneOf(SUBMISSION_STATES),
      ),
      signature: read(members, 'signature', 'the signature of a transaction, in base58', value =>
        typeof value === 'string' && isSignature(value) ? value : undefined,
      ),
    },
    before: earlierId(before, until === undefined ? undefined : firstIdAt(until)),
    from: fromMs === undefined ? undefined : firstIdAt(fromMs),
    limit:
      read(members, 'limit', `an integer from 1 to ${LIMIT_MAX}`, toInteger(1, LIMIT_MAX)) ??
      LIMIT_DEFAULT,
  }
}
