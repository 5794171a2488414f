import type { Verdict } from '../../native/transactions.js'
import type { Grant } from '../../shared/grant.js'
import type { LanderKnowledge, LanderRequest } from '../link/messages.js'
import { membersOf } from '../store/members.js'
import type { SubmissionStore } from '../store/submission-store.js'
import type { LanderRoute, LaneReports, Submission } from '../store/submission.js'
import type { EngineAnswer } from '../relay/engine-answer.js'

const NOT_CHECKED = 'not checked: too many checks in flight'

/** What a record has of the transactions of a request; undefined where they could not be read. */
export const knowledgeOf = (
  route: LanderRoute,
  verdict: Verdict | undefined,
  findings = '',
): LanderKnowledge =>
  verdict === undefined
    ? { checks: NOT_CHECKED }
    : {
        ...membersOf(verdict),
        // Of a batch the transactions belong together no further.
        bundleId: route === '/lander-submit-bundle' ? (verdict.bundleId ?? null) : null,
        ...(findings === '' ? {} : { findings }),
      }

const PENDING = {
  bundleId: null,
  signatures: [],
  checks: 'passed',
  joined: null,
  forwardedAtMs: null,
  answeredAtMs: null,
  outcome: 'pending',
  result: null,
  error: null,
  engine: null,
} as const

/** The record of a request that a check refused. */
export const toRefused = (
  { message, name }: { readonly message: string; readonly name?: string },
  {
    grant,
    ...of
  }: {
    readonly grant: Grant
    readonly route: LanderRoute
    readonly receivedAtMs: number
    readonly answeredAtMs: number
  },
): Submission => {
  const { accessId, tokenId, network, location } = grant
  const outcome = name === 'checksOverloaded' ? 'full' : 'invalid'
  return { ...PENDING, accessId, tokenId, network, location, ...of, outcome, checks: message }
}

const toPending = ({ from, network, receivedAtMs, route }: LanderRequest): Submission => ({
  ...PENDING,
  ...from,
  network,
  receivedAtMs,
  route,
})

/** The record of a request with which a sender has ended. */
export const toLost = (
  request: LanderRequest,
  known: LanderKnowledge,
  answeredAtMs: number,
): Submission => ({ ...toPending(request), ...known, outcome: 'unknown', answeredAtMs })

export type LanderRecordParts = {
  readonly store: Pick<SubmissionStore, 'record' | 'amend'>
  /** The newest slot of the index of a network. */
  readonly tipSlot: (network: string) => number | undefined
  /** Unix milliseconds. */
  readonly now: () => number
  /** A request without an answer after this is stored as pending. */
  readonly pendingMs: number
}

/** What the sender records of one request, once it is answered and its transactions are known. */
export class LanderRecord {
  private readonly parts: LanderRecordParts
  private readonly request: LanderRequest
  private readonly receivedSlot: number | undefined
  private forwardedAtMs: number | null = null
  private timer: NodeJS.Timeout | undefined
  private isRecorded = false
  private isEnded = false
  /** The lanes of a race as they were at its start, and once all have ended. */
  private started: LaneReports | undefined
  private lanes: LaneReports | undefined
  private readonly onKnown: (known: LanderKnowledge) => void
  private known: LanderKnowledge | undefined
  private answer: { readonly read: () => EngineAnswer; readonly atMs: number } | undefined

  constructor(
    parts: LanderRecordParts,
    request: LanderRequest,
    onKnown: (known: LanderKnowledge) => void = () => {},
  ) {
    this.parts = parts
    this.request = request
    this.receivedSlot = parts.tipSlot(request.network)
    this.onKnown = onKnown
  }

  /** Its bytes are written to the lander, or to these lanes. */
  onSent(lanes?: LaneReports): void {
    this.started = lanes
    this.forwardedAtMs = this.parts.now()
    this.timer = setTimeout(() => this.record({}), this.parts.pendingMs)
    this.timer.unref()
  }

  /** The edge knows its transactions, or has ended before it did. */
  onChecked(known: LanderKnowledge = { checks: NOT_CHECKED }): void {
    if (this.known !== undefined) return
    this.known = known
    this.onKnown(known)
    // What is stored as pending has no transactions yet.
    if (this.isRecorded && this.answer === undefined) this.record({})
    this.endIfKnown()
  }

  /** `read`: how it ended. */
  onAnswered(read: () => EngineAnswer): void {
    this.answer = { read, atMs: this.parts.now() }
    this.endIfKnown()
  }

  /** Every lane has ended, which may follow the answer. */
  onLanes(lanes: LaneReports): void {
    this.lanes = lanes
    if (this.isEnded) void this.parts.store.amend(this.request.id, { lanes })
  }

  private endIfKnown(): void {
    const { answer: answered } = this
    if (answered === undefined || this.known === undefined) return
    clearTimeout(this.timer)
    // After the answer is written to the edge.
    setImmediate(() => {
      const { read, atMs } = answered
      this.record({ ...read(), answeredAtMs: atMs })
      this.isEnded = true
    })
  }

  private record(ending: Partial<Submission>): void {
    this.isRecorded = true
    const { forwardedAtMs, known, lanes, receivedSlot, started } = this
    const whole = {
      ...toPending(this.request),
      ...{ receivedSlot, forwardedAtMs },
      ...(started !== undefined && { lanes: started }),
    }
    const ended = lanes === undefined ? ending : { ...ending, lanes }
    this.parts.store.record(this.request.id, { ...whole, ...known, ...ended })
  }
}
