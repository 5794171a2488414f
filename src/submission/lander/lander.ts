import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError, type ErrorName } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import { isRefusal } from '../../shared/jsonrpc.js'
import type { TransactionChecks, Verdict } from '../../native/transactions.js'
import type { Upstream } from '../../upstream/client.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { UpstreamReply } from '../../upstream/reply.js'
import { parseSubmission } from '../call.js'
import type { SubmissionReply } from '../failure.js'
import type { LanderRoute } from '../store/submission.js'
import {
  findAll,
  formatFindings,
  gravest,
  UNCHECKED,
  type Finding,
  type FindingKind,
} from './findings.js'
import type { Options } from './options.js'
import { NO_TRACE, type LanderTrace } from './recorder.js'
import { LANDER_TRANSACTION_BYTES_MAX, toBundle, toSingle } from './params.js'
import {
  BYTES_TYPE,
  countsReply,
  errorReply,
  FAILURES,
  JSON_TYPE,
  recordProblem,
  toCallReply,
  toReply,
} from './replies.js'

/** How a request of a lander route ended. */
export type LanderOutcome = 'forwarded' | 'framing' | 'refused' | ErrorName

/** Counts what happens on one network's lander routes. */
export type LanderMeter = {
  /**
   * A request was answered: `forwarded`, whatever the upstream said, `framing` for a malformed
   * batch, `refused` where its access ended meanwhile, or an error.
   */
  onEnd(route: LanderRoute, outcome: LanderOutcome, elapsedMs: number): void
  /** `unchecked`: the reply was sent before the findings. Those are counted as well, later. */
  onFinding(route: LanderRoute, kind: FindingKind | typeof UNCHECKED): void
}

/** What one network's lander routes work with. */
export type LanderModules = {
  readonly upstream: Pick<Upstream, 'send'>
  readonly checks: TransactionChecks
  readonly meter: LanderMeter
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Of a call: see `MessageLimits`. */
  readonly nestingMax: number
}

/** The reply where an access has ended since its request was admitted. */
export type Recheck = () => Reply | undefined

/** How the two routes with a JSON body differ. */
const CALLS = {
  '/lander': { method: 'sendTransaction', toTexts: toSingle, pathOption: 'transactionPath' },
  '/lander-submit-bundle': { method: 'sendBundle', toTexts: toBundle, pathOption: 'bundlePath' },
} as const

/** One request whose form is right. */
type Work = {
  readonly route: LanderRoute
  readonly startMs: number
  readonly path: string
  readonly contentType: string
  /** A copy: the server reuses its memory after the first await. */
  readonly body: Buffer
  readonly check: () => Verdict | Promise<Verdict>
  readonly refuse: (error: RpcError, finding?: Finding) => SubmissionReply
  readonly toReply: (answer: UpstreamReply) => SubmissionReply
  readonly recheck: Recheck
  readonly trace: LanderTrace
}

/** The lander routes of one network, over one upstream. */
export class Lander {
  private readonly options: Options
  private readonly modules: LanderModules
  private readonly floorLamports: bigint

  constructor(options: Options, modules: LanderModules) {
    this.options = options
    this.modules = modules
    this.floorLamports = BigInt(options.tipFloorLamports)
  }

  /**
   * Handles one whole body, which is copied before this returns. `recheck` is asked right before
   * the body is forwarded, if that waits for anything.
   */
  submit(
    route: LanderRoute,
    body: Uint8Array,
    recheck: Recheck,
    trace: LanderTrace = NO_TRACE,
  ): SubmissionReply | Promise<SubmissionReply> {
    return route === '/lander-submit-batch'
      ? this.submitBatch(body, recheck, trace)
      : this.submitCall(route, body, recheck, trace)
  }

  private submitCall(
    route: keyof typeof CALLS,
    body: Uint8Array,
    recheck: Recheck,
    trace: LanderTrace,
  ): SubmissionReply | Promise<SubmissionReply> {
    const { checks, now, nestingMax } = this.modules
    const startMs = now()
    const { method, toTexts, pathOption } = CALLS[route]
    const call = parseSubmission(body, nestingMax)
    const refuse = (error: RpcError) => errorReply(call.id, error)
    try {
      if (isRefusal(call)) throw call.error
      if (call.method !== method) throw new RpcError('methodNotFound')
      const texts = toTexts(call.params)
      return this.forward({
        route,
        startMs,
        path: this.options[pathOption],
        contentType: JSON_TYPE,
        body: Buffer.from(body),
        check: () => checks.checkBundle(texts, LANDER_TRANSACTION_BYTES_MAX),
        refuse,
        toReply: answer => toCallReply(call.id, answer),
        recheck,
        trace,
      })
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      trace.onRefused(error)
      this.count(route, error.name, startMs)
      return refuse(error)
    }
  }

  private submitBatch(
    body: Uint8Array,
    recheck: Recheck,
    trace: LanderTrace,
  ): SubmissionReply | Promise<SubmissionReply> {
    const { checks, now } = this.modules
    const startMs = now()
    const route = '/lander-submit-batch'
    const { count, problem } = checks.frameBatch(body)
    if (problem !== undefined) {
      trace.onRefused({ message: problem })
      this.count(route, 'framing', startMs)
      return countsReply(count, problem)
    }
    const copy = Buffer.from(body)
    return this.forward({
      route,
      startMs,
      path: this.options.batchPath,
      contentType: BYTES_TYPE,
      body: copy,
      check: () => checks.checkBatch(copy),
      // Findings in a batch have the form of a batch's answer; other errors are the upstream's.
      refuse: (error, finding) =>
        finding === undefined
          ? errorReply('null', error)
          : countsReply(count, recordProblem(error, finding)),
      toReply: answer => toReply('null', answer),
      recheck,
      trace,
    })
  }

  private forward(work: Work): Promise<SubmissionReply> {
    return this.options.enforce ? this.sendChecked(work) : this.send(work)
  }

  /** Sends a request after its checks, where these find nothing. */
  private async sendChecked(work: Work): Promise<SubmissionReply> {
    const { route, startMs, trace } = work
    let finding: Finding | undefined
    try {
      const verdict = await work.check()
      trace.onChecked(verdict)
      finding = gravest(this.find(route, verdict))
      if (finding !== undefined) {
        this.modules.meter.onFinding(route, finding.kind)
        throw finding.toError()
      }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      trace.onRefused(error)
      this.count(route, error.name, startMs)
      return work.refuse(error, finding)
    }
    const refused = work.recheck()
    if (refused === undefined) return this.send(work)
    this.count(route, 'refused', startMs)
    return { reply: refused }
  }

  private async send(work: Work): Promise<SubmissionReply> {
    const { route, startMs, path, contentType, body, trace } = work
    let pending: Promise<string> | undefined
    const onWritten = (): void => {
      trace.onSent()
      // The bytes are written in this turn of the event loop, the checks start after them.
      if (this.options.enforce) return
      queueMicrotask(() => {
        pending = this.collectFindings(work)
      })
    }
    const answered = await this.modules.upstream
      .send({ method: 'POST', path, headers: { 'content-type': contentType }, body, onWritten })
      .then(
        answer => {
          trace.onAnswered(answer)
          return work.toReply(answer)
        },
        (error: unknown) => {
          if (!(error instanceof UpstreamFailure)) throw error
          trace.onAnswered(error.kind)
          return FAILURES[error.kind]
        },
      )
    if (pending === undefined && !this.options.enforce) this.readUnsent(work)
    const findings = pending === undefined ? '' : await this.waitFor(pending)
    if (findings === UNCHECKED) this.modules.meter.onFinding(route, UNCHECKED)
    const isForwarded = !(answered instanceof RpcError)
    this.count(route, isForwarded ? 'forwarded' : answered.name, startMs)
    const whole = isForwarded ? answered : work.refuse(answered)
    if (findings === '') return whole
    const headers = { ...whole.reply.headers, 'X-Lander-Findings': findings }
    return { ...whole, reply: { ...whole.reply, headers } }
  }

  private waitFor(findings: Promise<string>): Promise<string> {
    const { findingsWaitMs: waitMs } = this.options
    // Timers take 1 ms at least.
    const timeout = waitMs === 0 ? UNCHECKED : sleep(waitMs, UNCHECKED, { ref: false })
    return Promise.race([findings, timeout])
  }

  /** Never rejects: checks beside a request in flight must not fail it. */
  private async collectFindings({ route, check, trace }: Work): Promise<string> {
    try {
      const verdict = await check()
      const findings = this.find(route, verdict)
      for (const { kind } of findings) this.modules.meter.onFinding(route, kind)
      const text = formatFindings(findings)
      trace.onChecked(verdict, text)
      return text
    } catch {
      trace.onChecked(undefined)
      return UNCHECKED
    }
  }

  /** Reads the transactions of a request of which nothing was sent. */
  private readUnsent({ check, trace }: Work): void {
    if (trace === NO_TRACE) return
    void Promise.resolve()
      .then(check)
      .then(
        verdict => trace.onChecked(verdict),
        () => trace.onChecked(undefined),
      )
  }

  private find(route: LanderRoute, verdict: Verdict): readonly Finding[] {
    const payers = route === '/lander-submit-bundle' ? 'one' : 'each'
    return findAll(verdict, { payers, floorLamports: this.floorLamports })
  }

  private count(route: LanderRoute, outcome: LanderOutcome, startMs: number): void {
    const { meter, now } = this.modules
    meter.onEnd(route, outcome, now() - startMs)
  }
}
