import type { SignedTransaction } from '../lanes/lane.js'
import type { EngineAnswer } from '../relay/engine-answer.js'
import type { LaneReport, LaneReports } from '../store/submission.js'
import { leftOutOf, type RaceLane, type RaceTerms } from './race-lane.js'

/** Milliseconds as they are stored: whole microseconds. */
const toMs = (ms: number): number => Math.round(Math.max(0, ms) * 1_000) / 1_000

/** What is raced, for whom. */
export type RaceTask = {
  readonly transaction: SignedTransaction
  readonly terms: RaceTerms
  readonly accessId: string
  /** Called before the first byte is written to any of these lanes. */
  readonly onStart: (lanes: LaneReports) => void
  /** Called with what every lane has come to, once all have ended. */
  readonly onEnded: (lanes: LaneReports) => void
}

const NOTHING = { result: null, error: null, engine: null } as const

/** How a race ended that no lane has accepted. */
const outcomeOf = (lanes: LaneReports): EngineAnswer['outcome'] => {
  const used = lanes.filter(({ leftOut }) => leftOut === undefined)
  const has = (...outcomes: readonly LaneReport['outcome'][]): boolean =>
    used.some(({ outcome }) => outcomes.includes(outcome))
  const lacks = (reason: LaneReport['leftOut']): boolean =>
    lanes.some(({ leftOut }) => leftOut === reason)
  if (has('written', 'unknown')) return 'unknown'
  if (has('refused')) return 'refused'
  if (has('full') || (used.length === 0 && lacks('rate'))) return 'full'
  if (has('unreachable') || lacks('down')) return 'unreachable'
  return 'invalid'
}

/** Why, for the record. */
const errorOf = (lanes: LaneReports): string | null => {
  const refused = lanes.find(({ outcome }) => outcome === 'refused')
  if (refused === undefined) return null
  const { lane, status = null, words = '' } = refused
  const why = words === '' ? `status ${status}` : words
  return JSON.stringify({ message: `every lane that answered refused it; ${lane}: ${why}` })
}

const NO_TIMES = { writtenAfterMs: null, answeredAfterMs: null } as const

export type RaceParts = {
  readonly lanes: readonly RaceLane[]
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly onFault: (fault: unknown) => void
}

/** Sends a transaction by every lane that can carry it. The first acceptance is the answer. */
export class Race {
  private readonly parts: RaceParts
  private inFlight = 0
  private onIdle = (): void => {}

  constructor(parts: RaceParts) {
    this.parts = parts
  }

  /** All lanes are written to in this turn of the event loop, each at most once. */
  run(task: RaceTask): Promise<EngineAnswer> {
    const { accessId, terms, transaction } = task
    const startMs = this.parts.now()
    const of = { bytes: transaction.bytes.length, accessId }
    const reports = this.parts.lanes.map((one): LaneReport => {
      const leftOut = leftOutOf(one, terms, of)
      if (leftOut === undefined) return { lane: one.id, outcome: 'pending', ...NO_TIMES }
      const report = { lane: one.id, outcome: 'left-out', leftOut, ...NO_TIMES } as const
      one.meter(report)
      return report
    })
    if (reports.every(({ leftOut }) => leftOut !== undefined))
      return Promise.resolve({ ...NOTHING, outcome: outcomeOf(reports), lanes: reports })
    task.onStart([...reports])
    return this.write(task, reports, startMs)
  }

  /** Resolves when no transaction is in flight on a lane. */
  async drain(): Promise<void> {
    if (this.inFlight === 0) return
    await new Promise<void>(resolve => {
      this.onIdle = resolve
    })
  }

  private write(task: RaceTask, reports: LaneReport[], startMs: number): Promise<EngineAnswer> {
    const used = this.parts.lanes.flatMap((one, at) =>
      reports[at]?.leftOut === undefined ? [{ one, at }] : [],
    )
    let waiting = used.length
    this.inFlight += waiting
    return new Promise(resolve => {
      const onEnd = (at: number, report: LaneReport): void => {
        reports[at] = report
        const lanes = [...reports]
        waiting--
        if (report.outcome === 'accepted') resolve({ ...NOTHING, outcome: 'accepted', lanes })
        if (waiting === 0) {
          // Without effect after an acceptance.
          resolve({ ...NOTHING, outcome: outcomeOf(lanes), error: errorOf(lanes), lanes })
          task.onEnded(lanes)
        }
        this.inFlight--
        if (this.inFlight === 0) this.onIdle()
      }
      for (const { one, at } of used)
        void this.send(one, task.transaction, startMs).then(report => {
          one.meter(report)
          one.watch.onEnd(report)
          onEnd(at, report)
        })
    })
  }

  /** Sends by one lane. Never rejects: it may have been written. */
  private async send(
    { id: lane, lane: way }: RaceLane,
    transaction: SignedTransaction,
    startMs: number,
  ): Promise<LaneReport> {
    const { now, onFault } = this.parts
    try {
      const { hasSignature, outcome, status, words, writtenMs } = await way.send(transaction)
      const isAnswered = status !== null
      return {
        ...{ lane, outcome },
        writtenAfterMs: writtenMs === null ? null : toMs(writtenMs - startMs),
        answeredAfterMs: isAnswered ? toMs(now() - startMs) : null,
        ...(isAnswered && { status, hasSignature }),
        ...(words !== '' && { words }),
      }
    } catch (fault) {
      onFault(fault)
      return { lane, outcome: 'unknown', ...NO_TIMES }
    }
  }
}
