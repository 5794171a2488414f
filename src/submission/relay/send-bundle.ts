import { createHash } from 'node:crypto'
import { createLogThrottle, LOG_PAUSE_MS } from '../../shared/log-throttle.js'
import type { SendResult, SendTask } from '../single-flight.js'
import { formatId } from '../store/submission-id.js'
import type { Ending, Submission } from '../store/submission.js'
import type { Engine } from './engine.js'
import type { EngineAnswer } from './engine-answer.js'
import type { CheckedBundle, MayStart, SendModules, SendOptions } from './relay-types.js'

/** How a submission ends of which nothing was sent. */
const UNSENT = {
  outcome: 'full',
  result: null,
  error: null,
  engine: null,
  forwardedAtMs: null,
} as const

/** True where the bundle got no token. */
const isUnsent = ({ outcome, forwardedAtMs, engine }: Ending): boolean =>
  outcome === 'full' && forwardedAtMs === null && engine === null

/** The `result` of an engine that accepts the bundle, as JSON. */
export const expectedResult = (
  route: SendOptions['route'],
  bundleId: string,
  signatures: readonly string[],
): string => JSON.stringify(route === '/relay' ? signatures : bundleId)

/** Sends the checked bundles of one relay route: reserve, record, send, settle. */
export class BundleSender {
  private readonly options: Pick<SendOptions, 'network' | 'route'>
  private readonly engine: Engine
  private readonly modules: SendModules
  private readonly mismatches
  /** The same bundle on another route or network is another one. */
  private readonly routeDigest: Buffer

  constructor(
    options: Pick<SendOptions, 'network' | 'route'>,
    engine: Engine,
    modules: SendModules,
  ) {
    this.options = options
    this.engine = engine
    this.modules = modules
    this.mismatches = createLogThrottle(LOG_PAUSE_MS, modules.clock)
    const name = `${options.network} ${options.route}`
    this.routeDigest = createHash('sha256').update(name).digest()
  }

  /** Sends a bundle, or joins its send. Rejects only with faults of ours, before a byte is sent. */
  async send(checked: CheckedBundle, mayStart: MayStart): Promise<SendResult> {
    const receivedSlot = this.modules.tipSlot()
    const bundle = { ...checked, pending: { ...checked.pending, receivedSlot } }
    const may = mayStart(bundle.version)
    if (!(may === true || (await may))) return this.unsent()
    const task: SendTask = {
      key: this.keyOf(bundle.bundleId),
      id: formatId(bundle.submissionId),
      prepare: () => this.reserve(bundle, mayStart),
    }
    const { singleFlight } = this.modules
    const sent = await singleFlight.run(task)
    const isSettled = typeof sent === 'string' || sent.joined === null || !isUnsent(sent.ending)
    // A token that another access did not get may be this one's.
    return this.settle(isSettled ? sent : await singleFlight.run(task), bundle)
  }

  private unsent(): SendResult {
    return { ending: { ...UNSENT, answeredAtMs: this.modules.now() }, joined: null }
  }

  private keyOf(bundleId: string): string {
    const key = Buffer.from(bundleId, 'hex')
    for (let index = 0; index < key.length; index++)
      key[index] = (key[index] ?? 0) ^ (this.routeDigest[index] ?? 0)
    return key.toString('hex')
  }

  /**
   * Takes a token, or queues for one, and writes the record; what it returns sends the
   * bundle.
   */
  private reserve(bundle: CheckedBundle, mayStart: MayStart): (() => Promise<Ending>) | 'full' {
    const { queue, store, now } = this.modules
    const token = queue.enter(bundle.pending.accessId)
    if (token === false) return 'full'
    const forwardedAtMs = token === true ? now() : null
    const record = store.begin(bundle.submissionId, { ...bundle.pending, forwardedAtMs })
    if (record === undefined) return 'full'
    return async () => {
      const isTaken = token === true || (await token)
      const may = token === true || (isTaken && (await mayStart(bundle.version)))
      if (may && token !== true) record.onStart(now())
      const ending: Ending = may
        ? await this.sendToEngine(bundle)
        : { ...UNSENT, answeredAtMs: now() }
      void record.end(ending)
      return ending
    }
  }

  /** Never rejects. */
  private async sendToEngine(bundle: CheckedBundle): Promise<Ending> {
    const { meter, clock, now } = this.modules
    const sentAtMs = now()
    meter.onForward(clock() - bundle.startMs)
    const answer = this.compare(await this.engine.sendBundle(bundle.transactions), bundle)
    const isSent = answer.engine !== null || answer.outcome === 'unknown'
    return { ...answer, forwardedAtMs: isSent ? sentAtMs : null, answeredAtMs: now() }
  }

  /**
   * The engine's answer, where an accepted bundle is the one that was sent. Of another result it is
   * not known what was accepted.
   */
  private compare(answer: EngineAnswer, { bundleId, pending }: CheckedBundle): EngineAnswer {
    const { network, route } = this.options
    const expected = expectedResult(route, bundleId, pending.signatures)
    if (answer.outcome !== 'accepted' || answer.result === expected) return answer
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

  /**
   * Records a submission that was not sent itself: it joined another one, or there was no capacity.
   */
  private settle(sent: SendResult, { submissionId, pending }: CheckedBundle): SendResult {
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
    return sent
  }
}
