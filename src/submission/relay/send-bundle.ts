import { createHash } from 'node:crypto'
import { RpcError } from '../../shared/errors.js'
import type { Params } from '../../shared/jsonrpc.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../../shared/log-throttle.js'
import type { SendResult, SendTask, StartedSend } from '../single-flight/single-flight.js'
import { formatId } from '../store/submission-id.js'
import { membersOf } from '../store/members.js'
import type { Ending, Submission } from '../store/submission.js'
import {
  BUNDLE_FORMS,
  checkMembers,
  toTransactions,
  RELAY_TRANSACTION_BYTES_MAX,
} from './bundle.js'
import type { Engine } from './engine.js'
import type { EngineAnswer } from './engine-answer.js'
import type {
  CallOutcome,
  Outcome,
  RelayModules,
  RelayOptions,
  RelayOrigin,
} from './relay-types.js'

/** A bundle that passed every check. */
type Checked = {
  readonly submissionId: Uint8Array
  /** Monotonic milliseconds. */
  readonly startMs: number
  readonly transactions: readonly string[]
  readonly bundleId: string
  /** The record as it would be if the bundle were forwarded now. */
  readonly pending: Submission
  /** The refusal where its access has ended meanwhile. */
  readonly recheck: RelayOrigin['recheck']
}

/** How a submission ended, and the other submission that was sent for it, if any. */
type Settled = Exclude<SendResult, string>

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

const isTexts = (value: unknown): value is readonly string[] =>
  isList(value) && value.every(text => typeof text === 'string')

/** True where the bundle got no token. */
const isUnsent = ({ outcome, forwardedAtMs, engine }: Ending): boolean =>
  outcome === 'full' && forwardedAtMs === null && engine === null

/** Sends the bundles of one relay route: validate, reserve, record, send, settle. */
export class BundleSender {
  private readonly options: RelayOptions
  private readonly engine: Engine
  private readonly modules: RelayModules
  private readonly mismatches
  private readonly unknowns
  /**
   * The lock table is the machine's: the same bundle on another route or network is another one.
   */
  private readonly routeDigest: Buffer

  constructor(options: RelayOptions, engine: Engine, modules: RelayModules) {
    this.options = options
    this.engine = engine
    this.modules = modules
    this.mismatches = createLogThrottle(LOG_PAUSE_MS, modules.clock)
    this.unknowns = createLogThrottle(LOG_PAUSE_MS, modules.clock)
    const name = `${options.network} ${options.route}`
    this.routeDigest = createHash('sha256').update(name).digest()
  }

  /** Handles one `sendBundle`. Rejects only with internal faults, before anything is sent. */
  async send(params: Params, origin: RelayOrigin): Promise<CallOutcome> {
    const startMs = this.modules.clock()
    const { submissionId } = origin
    const { route, serviceTipFloorLamports, engineTipFloorLamports } = this.options
    let pending = this.newRecord(origin)
    let transactions: readonly string[]
    try {
      transactions = toTransactions(params, BUNDLE_FORMS[route])
      const verdict = await this.modules.checks.checkBundle(
        transactions,
        RELAY_TRANSACTION_BYTES_MAX,
      )
      pending = { ...pending, bundleId: verdict.bundleId ?? null, ...membersOf(verdict) }
      checkMembers(verdict, { service: serviceTipFloorLamports, engine: engineTipFloorLamports })
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const bundleId = pending.bundleId ?? this.readBundleId(params)
      this.recordRefusal(submissionId, { ...pending, bundleId: bundleId ?? null }, error)
      return { outcome: error, bundleId }
    }
    const { bundleId } = pending
    // A well-formed transaction has a signature.
    if (bundleId === null) throw new Error('a bundle that passed its checks has no id')
    const refused = origin.recheck()
    if (refused !== undefined) return { outcome: { reply: refused }, bundleId }
    const { recheck } = origin
    const checked: Checked = { submissionId, startMs, transactions, bundleId, pending, recheck }
    const sent = await this.run(checked)
    const outcome = this.toOutcome(this.settle(sent, checked), checked)
    // Its access may have ended while it waited for the engine.
    const hasWaited = typeof sent !== 'string' && sent.ending.forwardedAtMs === null
    const ended = hasWaited ? origin.recheck() : undefined
    return { outcome: ended === undefined ? outcome : { reply: ended }, bundleId }
  }

  /**
   * The id of a bundle that was refused before its signatures were checked; undefined where one is
   * missing. Never throws.
   */
  readBundleId(params: Params): string | undefined {
    const [first]: readonly unknown[] = isList(params) ? params : []
    if (!isTexts(first)) return undefined
    try {
      return this.modules.checks.bundleId(first, RELAY_TRANSACTION_BYTES_MAX) ?? undefined
    } catch {
      // The refusal is what the client must hear of.
      return undefined
    }
  }

  private newRecord({ grant }: RelayOrigin): Submission {
    const receivedAtMs = this.modules.now()
    return {
      accessId: grant.accessId,
      tokenId: grant.tokenId,
      network: this.options.network,
      location: grant.location,
      route: this.options.route,
      bundleId: null,
      signatures: [],
      receivedAtMs,
      checks: 'passed',
      joined: null,
      forwardedAtMs: receivedAtMs,
      answeredAtMs: null,
      outcome: 'pending',
      result: null,
      error: null,
      engine: null,
    }
  }

  private recordRefusal(id: Uint8Array, pending: Submission, error: RpcError): void {
    const outcome = error.name === 'checksOverloaded' ? 'full' : 'invalid'
    const times = { forwardedAtMs: null, answeredAtMs: this.modules.now() }
    this.modules.store.record(id, { ...pending, outcome, checks: error.message, ...times })
  }

  /** Sends the bundle, or joins its send. */
  private async run(checked: Checked): Promise<SendResult> {
    const { submissionId, bundleId } = checked
    const task: SendTask = {
      key: this.keyOf(bundleId),
      id: submissionId,
      isSame: other => this.isSame(other, bundleId),
      prepare: () => this.reserve(checked),
    }
    const sent = await this.modules.singleFlight.run(task)
    const isSettled = typeof sent === 'string' || sent.joined === null || !isUnsent(sent.ending)
    // A token that another access did not get may be this one's.
    return isSettled ? sent : this.modules.singleFlight.run(task)
  }

  private keyOf(bundleId: string): Buffer {
    const key = Buffer.from(bundleId, 'hex')
    for (let index = 0; index < key.length; index++)
      key[index] = (key[index] ?? 0) ^ (this.routeDigest[index] ?? 0)
    return key
  }

  private isSame(other: Submission, bundleId: string): boolean {
    const { network, route } = this.options
    return other.bundleId === bundleId && other.route === route && other.network === network
  }

  /**
   * Takes a token, or queues for one, and writes the record; what it returns sends the
   * bundle.
   */
  private reserve(checked: Checked): (() => StartedSend) | 'full' {
    const { queue, store, now } = this.modules
    const token = queue.enter(checked.pending.accessId)
    if (token === false) return 'full'
    const pending = { ...checked.pending, forwardedAtMs: now() }
    const record = store.begin(checked.submissionId, pending)
    if (record === undefined) return 'full'
    return () => {
      const ended = token === true ? this.sendToEngine(checked) : this.sendQueued(checked, token)
      return { ended, stored: ended.then(ending => record.end(ending)) }
    }
  }

  /** Sends the bundle once there is a token for it. Never rejects. */
  private async sendQueued(checked: Checked, token: Promise<boolean>): Promise<Ending> {
    if ((await token) && checked.recheck() === undefined) return this.sendToEngine(checked)
    const none = { result: null, error: null, engine: null, forwardedAtMs: null }
    return { ...none, outcome: 'full', answeredAtMs: this.modules.now() }
  }

  /** Never rejects. */
  private async sendToEngine(checked: Checked): Promise<Ending> {
    const { meter, clock, now } = this.modules
    const sentAtMs = now()
    meter.onForward(clock() - checked.startMs)
    const answer = this.compare(await this.engine.sendBundle(checked.transactions), checked)
    const isSent = answer.engine !== null || answer.outcome === 'unknown'
    return { ...answer, forwardedAtMs: isSent ? sentAtMs : null, answeredAtMs: now() }
  }

  /**
   * The engine's answer, where an accepted bundle is the one that was sent. Of another result it is
   * not known what was accepted.
   */
  private compare(answer: EngineAnswer, checked: Checked): EngineAnswer {
    if (answer.outcome !== 'accepted' || answer.result === this.expectedResult(checked))
      return answer
    const { network, route } = this.options
    const { bundleId } = checked
    const { engine } = answer
    this.modules.meter.onMismatch()
    this.mismatches(suppressedCount =>
      this.modules.log.warn(
        { network, route, bundleId, engine, suppressedCount },
        'the engine named another bundle',
      ),
    )
    return { ...answer, outcome: 'unknown', result: null }
  }

  /** The `result` of an engine that accepts the bundle, as JSON. */
  private expectedResult({ bundleId, pending }: Checked): string {
    return JSON.stringify(this.options.route === '/relay' ? pending.signatures : bundleId)
  }

  /**
   * Records a submission that was not sent itself: it joined another one, or there was no capacity.
   */
  private settle(sent: SendResult, { submissionId, pending }: Checked): Settled {
    if (typeof sent !== 'string' && sent.joined === null) return sent
    const { store, meter, now } = this.modules
    const times = { forwardedAtMs: null, answeredAtMs: now() }
    let own: Submission
    if (typeof sent === 'string') own = { ...pending, outcome: sent, ...times }
    else {
      meter.onJoined()
      // What the engine said beside its answer belongs to the submission that was sent.
      const { outcome, result, error } = sent.ending
      own = { ...pending, joined: sent.joined, outcome, result, error, engine: null, ...times }
    }
    store.record(submissionId, own)
    return typeof sent === 'string' ? { ending: own, joined: null } : sent
  }

  private toOutcome({ ending, joined }: Settled, checked: Checked): Outcome {
    switch (ending.outcome) {
      case 'accepted':
        return { result: this.expectedResult(checked) }
      case 'refused':
        if (ending.error !== null) return { error: ending.error }
        return new RpcError('engineRefused', { status: ending.engine?.status ?? 0 })
      case 'full':
        return new RpcError('engineFull')
      case 'unreachable':
        return new RpcError('upstreamUnreachable')
      default: {
        const { network, route } = this.options
        const { bundleId } = checked
        const submissionId = formatId(checked.submissionId)
        this.unknowns(suppressedCount =>
          this.modules.log.warn(
            { network, route, submissionId, bundleId, joined, suppressedCount },
            'submission outcome unknown',
          ),
        )
        return new RpcError('outcomeUnknown', undefined, { submissionId })
      }
    }
  }
}
