import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError } from '../../shared/errors.js'
import { isReply, type Reply } from '../../shared/http.js'
import { isRefusal } from '../../shared/jsonrpc.js'
import type { Verdict } from '../../native/transactions.js'
import type { Grant } from '../../shared/grant.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { UpstreamReply } from '../../upstream/reply.js'
import { parseSubmission } from '../call.js'
import type { SubmissionReply } from '../failure.js'
import type { LanderKnowledge } from '../link/messages.js'
import type { CallHooks } from '../link/sender-client.js'
import { toRaceReply } from '../race/reply.js'
import type { LanderRoute, TransactionRoute } from '../store/submission.js'
import { findAll, formatFindings, gravest, UNCHECKED, type Finding } from './findings.js'
import { Knowledge } from './knowledge.js'
import type {
  LanderModules,
  LanderOrigin,
  LanderOutcome,
  RaceForm,
  Recheck,
  TransactionForm,
} from './lander-types.js'
import type { Options } from './options.js'
import { LANDER_TRANSACTION_BYTES_MAX, toBundle, toSingle } from './params.js'
import { knowledgeOf, toLost, toRefused } from './records.js'
import { sendError, toSendReply } from './send-answer.js'
import { toTransaction } from './send-params.js'
import type { SentAnswer } from './sent-transactions.js'
import {
  countsReply,
  errorReply,
  FAILURES,
  recordProblem,
  toCallReply,
  toReply,
  withFindings,
} from './replies.js'

/** How the two routes with a JSON body differ. */
const CALLS = {
  '/lander': { method: 'sendTransaction', toTexts: toSingle },
  '/lander-submit-bundle': { method: 'sendBundle', toTexts: toBundle },
} as const

/** One request before its form is known. */
type Received = {
  readonly route: LanderRoute
  readonly grant: Grant
  readonly recheck: Recheck
  /** Monotonic, and Unix milliseconds. */
  readonly startMs: number
  readonly receivedAtMs: number
}

/** One request whose form is right. */
type Work = Received & {
  readonly body: Uint8Array
  /** Of `/send` and `/race`. */
  readonly signature?: string
  readonly race?: RaceForm | undefined
  readonly check: () => Verdict | Promise<Verdict>
  readonly refuse: (error: RpcError, finding?: Finding) => SubmissionReply
  readonly toReply: (answer: UpstreamReply | SentAnswer) => SubmissionReply | RpcError
}

type LanderOptions = Pick<Options, 'enforce' | 'findingsWaitMs' | 'tipFloorLamports'>

/** The lander routes of one network at an edge. */
export class Lander {
  private readonly options: LanderOptions
  private readonly modules: LanderModules
  private readonly floorLamports: bigint

  constructor(options: LanderOptions, modules: LanderModules) {
    this.options = options
    this.modules = modules
    this.floorLamports = BigInt(options.tipFloorLamports)
  }

  /** Handles one whole body, which is copied before this returns if it is used later. */
  submit(
    route: Exclude<LanderRoute, TransactionRoute>,
    body: Uint8Array,
    origin: LanderOrigin,
  ): SubmissionReply | Promise<SubmissionReply> {
    const admitted = this.admit(route, origin)
    if (isReply(admitted)) return { reply: admitted }
    const { received, version } = admitted
    return route === '/lander-submit-batch'
      ? this.submitBatch(body, received, version)
      : this.submitCall(route, body, received, version)
  }

  /** Sends one transaction, which is copied if its bytes are those of the body. */
  submitTransaction(
    body: Uint8Array,
    { encoding, race }: TransactionForm,
    origin: LanderOrigin,
  ): SubmissionReply | Promise<SubmissionReply> {
    const admitted = this.admit(race === undefined ? '/send' : '/race', origin)
    if (isReply(admitted)) return { reply: admitted }
    const { received, version } = admitted
    const { checks } = this.modules
    try {
      const transaction = Buffer.from(toTransaction(body, encoding))
      const { signature, problem } = checks.readTransaction(transaction)
      if (signature === undefined)
        throw new RpcError('transactionMalformed', { index: 0, problem: problem ?? '' })
      const work: Work = {
        ...received,
        body: transaction,
        ...{ signature, race },
        check: () => checks.checkTransaction(transaction),
        refuse: sendError,
        toReply: answer => {
          if (!('sent' in answer)) return NO_REPLY
          return race === undefined
            ? toSendReply(answer.sent, signature)
            : toRaceReply(answer.sent, signature, race)
        },
      }
      return this.forward(work, version)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return this.refuseForm(received, error, sendError)
    }
  }

  private admit(
    route: LanderRoute,
    origin: LanderOrigin,
  ): { readonly received: Received; readonly version: number } | Reply {
    // Before the accesses are looked at: a later change has the sender ask again.
    const version = this.modules.version()
    const received = { route, ...origin, startMs: this.modules.now(), receivedAtMs: Date.now() }
    return origin.recheck() ?? { received, version }
  }

  /** The reply to a request whose form is wrong. */
  private refuseForm(
    received: Received,
    error: RpcError,
    refuse: (error: RpcError) => SubmissionReply,
  ): SubmissionReply {
    this.recordRefused(received, error)
    this.count(received, error.name)
    return refuse(error)
  }

  private submitCall(
    route: keyof typeof CALLS,
    body: Uint8Array,
    received: Received,
    version: number,
  ): SubmissionReply | Promise<SubmissionReply> {
    const { checks, nestingMax } = this.modules
    const { method, toTexts } = CALLS[route]
    const call = parseSubmission(body, nestingMax)
    const refuse = (error: RpcError) => errorReply(call.id, error)
    try {
      if (isRefusal(call)) throw call.error
      if (call.method !== method) throw new RpcError('methodNotFound')
      const texts = toTexts(call.params)
      const work: Work = {
        ...received,
        body,
        check: () => checks.checkBundle(texts, LANDER_TRANSACTION_BYTES_MAX),
        refuse,
        toReply: answer => ('sent' in answer ? NO_REPLY : toCallReply(call.id, answer)),
      }
      return this.forward(work, version)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return this.refuseForm(received, error, refuse)
    }
  }

  private submitBatch(
    body: Uint8Array,
    received: Received,
    version: number,
  ): SubmissionReply | Promise<SubmissionReply> {
    const { checks } = this.modules
    const { count, problem } = checks.frameBatch(body)
    if (problem !== undefined) {
      this.recordRefused(received, { message: problem })
      this.count(received, 'framing')
      return countsReply(count, problem)
    }
    // The server reuses its memory after the first await.
    const copy = Buffer.from(body)
    const work: Work = {
      ...received,
      body: copy,
      check: () => checks.checkBatch(copy),
      // Findings in a batch have the form of a batch's answer; other errors are the upstream's.
      refuse: (error, finding) =>
        finding === undefined
          ? errorReply('null', error)
          : countsReply(count, recordProblem(error, finding)),
      toReply: answer => ('sent' in answer ? NO_REPLY : toReply('null', answer)),
    }
    return this.forward(work, version)
  }

  private forward(work: Work, version: number): Promise<SubmissionReply> {
    return this.options.enforce
      ? this.sendChecked({ ...work, body: Buffer.from(work.body) })
      : this.send(work, version)
  }

  /** Sends a request after its checks, where these find nothing. */
  private async sendChecked(work: Work): Promise<SubmissionReply> {
    let finding: Finding | undefined
    let known: LanderKnowledge = {}
    try {
      const verdict = await work.check()
      known = knowledgeOf(work.route, verdict)
      finding = gravest(this.find(work.route, verdict))
      if (finding !== undefined) {
        this.modules.meter.onFinding(work.route, finding.kind)
        throw finding.toError()
      }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      this.recordRefused(work, error, known)
      this.count(work, error.name)
      return work.refuse(error, finding)
    }
    const version = this.modules.version()
    const refused = work.recheck()
    if (refused === undefined) return this.send(work, version, known)
    this.count(work, 'refused')
    return { reply: refused }
  }

  /** `known`: of its transactions, where they are checked already. */
  private async send(
    work: Work,
    version: number,
    known?: LanderKnowledge,
  ): Promise<SubmissionReply> {
    const { network, newId, noSender, sender } = this.modules
    const { route, body, receivedAtMs, recheck } = work
    const { accessId, tokenId, location } = work.grant
    const from = { accessId, tokenId, location }
    const { race, signature } = work
    const request = {
      ...{ id: newId(), network, route, from, receivedAtMs, body, version },
      ...(signature !== undefined && { signature }),
      ...(race !== undefined && { race: toTerms(race, known) }),
    }
    const knowledge = new Knowledge(known)
    let pending: Promise<string> | undefined
    const hooks: CallHooks = {
      onWritten: add => knowledge.sendTo(add),
      onSent: () => {
        if (!knowledge.isKnown) pending = this.collectFindings(work, knowledge)
      },
      isEnded: () => recheck() !== undefined,
    }
    const answer = await sender.call('forward', request, hooks).catch(toNoAnswer)
    if (answer === 'no-sender') {
      this.count(work, answer)
      return { reply: noSender }
    }
    if (answer === 'ended') {
      // Nothing was sent, and nothing is recorded.
      knowledge.set({})
      this.count(work, 'refused')
      return { reply: recheck() ?? noSender }
    }
    if (answer === 'lost') {
      // The next sender records it, unless this one has.
      const answeredAtMs = Date.now()
      knowledge.sendTo(found => sender.record(request.id, toLost(request, found, answeredAtMs)))
    }
    if (typeof answer !== 'string' && 'sent' in answer && answer.isRepeat) {
      // It has a record already.
      knowledge.set({})
      return this.answerRepeat(work, answer)
    }
    const answered = typeof answer === 'string' ? NO_ANSWERS[answer] : work.toReply(answer)
    if (pending === undefined && knowledge.isAwaited) void this.readUnsent(work, knowledge)
    const findings = pending === undefined ? '' : await this.waitFor(pending)
    if (findings === UNCHECKED) this.modules.meter.onFinding(route, UNCHECKED)
    const isForwarded = !(answered instanceof RpcError)
    this.count(work, isForwarded ? 'forwarded' : answered.name)
    return withFindings(isForwarded ? answered : work.refuse(answered), findings)
  }

  /** As the first one was answered, with what is known of its findings by now. */
  private answerRepeat(work: Work, answer: SentAnswer): SubmissionReply {
    this.count(work, 'repeated')
    const answered = work.toReply(answer)
    const whole = answered instanceof RpcError ? work.refuse(answered) : answered
    return { ...withFindings(whole, answer.findings ?? UNCHECKED), isRepeat: true }
  }

  private waitFor(findings: Promise<string>): Promise<string> {
    const { findingsWaitMs: waitMs } = this.options
    // Timers take 1 ms at least.
    const timeout = waitMs === 0 ? UNCHECKED : sleep(waitMs, UNCHECKED, { ref: false })
    return Promise.race([findings, timeout])
  }

  /** Never rejects: checks beside a request in flight must not fail it. */
  private async collectFindings({ route, check }: Work, knowledge: Knowledge): Promise<string> {
    try {
      const verdict = await check()
      const findings = this.find(route, verdict)
      for (const { kind } of findings) this.modules.meter.onFinding(route, kind)
      const text = formatFindings(findings)
      knowledge.set(knowledgeOf(route, verdict, text))
      return text
    } catch {
      knowledge.set(knowledgeOf(route, undefined))
      return UNCHECKED
    }
  }

  /** Reads the transactions of a request of which nothing was sent. Never rejects. */
  private async readUnsent({ route, check }: Work, knowledge: Knowledge): Promise<void> {
    try {
      knowledge.set(knowledgeOf(route, await check()))
    } catch {
      knowledge.set(knowledgeOf(route, undefined))
    }
  }

  private find(route: LanderRoute, verdict: Verdict): readonly Finding[] {
    const payers = route === '/lander-submit-bundle' ? 'one' : 'each'
    return findAll(verdict, { payers, floorLamports: this.floorLamports })
  }

  /** After the reply: writing the record takes time of the event loop. */
  private recordRefused(
    { grant, receivedAtMs, route }: Received,
    error: { readonly message: string; readonly name?: string },
    known: LanderKnowledge = {},
  ): void {
    const { newId, sender } = this.modules
    const answeredAtMs = Date.now()
    setImmediate(() => {
      const refused = toRefused(error, { route, grant, receivedAtMs, answeredAtMs })
      sender.record(newId(), { ...refused, ...known })
    })
  }

  private count({ route, startMs }: Received, outcome: LanderOutcome): void {
    const { meter, now } = this.modules
    meter.onEnd(route, outcome, now() - startMs)
  }
}

/** What a transaction that was checked is raced on. */
const toTerms = ({ isProtected }: RaceForm, { tips: [paid = []] = [] }: LanderKnowledge = {}) => ({
  isProtected,
  paid,
})

/** Of an answer to another route than the one that was called. */
const NO_REPLY = FAILURES['no-response']

/** How a call to the sender fails. `lost`: it has ended with the call. */
const FAILED_CALLS = { unreachable: 'no-sender', 'no-response': 'lost', full: 'full' } as const

const NO_ANSWERS = { ...FAILURES, lost: FAILURES['no-response'] }

const toNoAnswer = (failure: unknown): (typeof FAILED_CALLS)[UpstreamFailure['kind']] => {
  if (!(failure instanceof UpstreamFailure)) throw failure
  return FAILED_CALLS[failure.kind]
}
