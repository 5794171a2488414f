import { createHash } from 'node:crypto'
import { RpcError } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import type { BegunBundle } from '../../native/transactions.js'
import { judgeMembers, judgeSigned } from './bundle.js'
import type { Engine, SendPrepared } from './engine.js'
import type { EngineAnswer } from './engine-answer.js'
import type { Begun, Bundle, Flown } from '../single-flight/single-flight.js'
import type { Flight } from '../store/submission-store.js'
import type { Answer, Outcome, RelayModules, RelayOptions, RelayOrigin } from './relay-types.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../../shared/log-throttle.js'
import { formatId } from '../store/submission-id.js'
import type { Ending, Submission } from '../store/submission.js'

/** A bundle as it would fly. */
type Prepared = {
  readonly bundleId: string
  /** What an engine answers that takes it, as JSON. */
  readonly result: string
  readonly key: Buffer
  readonly send: SendPrepared
  /** Keeps its record in the ledger. */
  readonly begin: () => Flight | undefined
}

/** What is known of a submission from its beginning. */
type Attempted = {
  /** As if it were forwarded. */
  readonly pending: Submission
  readonly submissionId: Uint8Array
  /** Monotonic milliseconds. */
  readonly startMs: number
}

/** How a flight ended, and the other submission that flew, if one did. */
type Landed = Exclude<Flown, string>

type Wrong = number | undefined | Promise<number | undefined>

type EarlyParts = {
  readonly attempted: Attempted
  readonly origin: RelayOrigin
  /** Throws RpcErrors. */
  readonly judge: (wrong: number | undefined) => void
  readonly wrongSignature: () => Wrong
}

/**
 * What came of a bundle that was to fly early: how it flew, or why it did not. Empty where nobody
 * was asked.
 */
type Early = {
  readonly flown?: Promise<Flown> | 'full'
  readonly refused?: Reply
  readonly error?: unknown
  /** What was asked, and is not to be asked again. */
  readonly wrong?: Wrong
}

/**
 * Where signatures are not known in time, they may not be for the next bundle either: it does not
 * fly early. After several such bundles in a row that goes for twice as many each time, up to
 * these.
 */
const EARLY_PAUSE_MAX = 32

/**
 * So much earlier, in ms, may a flight begin in the ledger than it did: its end has the right time.
 */
const BEGIN_MS_OFF = 1

/** A bundle whose signatures are looked at. */
export type Opened = {
  readonly begun: BegunBundle
  /** Its transactions as JSON texts, with commas between them. */
  readonly list: Uint8Array
}

/**
 * Answers one `sendBundle`. `open` throws RpcErrors where there is no bundle in it. Rejects only
 * with faults of ours, before anything is sent.
 */
export type SendBundle = (open: () => Opened, origin: RelayOrigin) => Promise<Answer>

export const createSendBundle = (
  options: RelayOptions,
  engine: Engine,
  { bucket, flights, book, log, now, clock, meter }: Omit<RelayModules, 'checks' | 'upstream'>,
): SendBundle => {
  const { network, route } = options
  const floors = {
    service: options.serviceTipFloorLamports,
    engine: options.engineTipFloorLamports,
  }
  const mismatches = createLogThrottle(LOG_PAUSE_MS, clock)
  const unknowns = createLogThrottle(LOG_PAUSE_MS, clock)
  // Claims are the machine's: the same bundle on another route or network is another one.
  const place = createHash('sha256').update(`${network} ${route}`).digest()
  const keyOf = (bundleId: string): Buffer => {
    const key = Buffer.from(bundleId, 'hex')
    for (let index = 0; index < key.length; index++)
      key[index] = (key[index] ?? 0) ^ (place[index] ?? 0)
    return key
  }

  /** The record of a submission that is forwarded at once. */
  const toPending = (
    { grant }: RelayOrigin,
    receivedAtMs: number,
    begun?: BegunBundle,
  ): Submission => ({
    accessId: grant.accessId,
    tokenId: grant.tokenId,
    network,
    location: grant.location,
    route,
    bundleId: begun?.bundleId ?? null,
    signatures: begun?.signatures ?? [],
    receivedAtMs,
    checks: 'passed',
    joined: null,
    forwardedAtMs: receivedAtMs,
    answeredAtMs: null,
    outcome: 'pending',
    result: null,
    error: null,
    engine: null,
  })

  /** The engine's answer as this route takes it; what differs from what the bundle says is told. */
  const compare = (answer: EngineAnswer, { bundleId, result }: Prepared): EngineAnswer => {
    if (answer.outcome !== 'accepted' || answer.result === result) return answer
    meter.onMismatch()
    mismatches(suppressedCount =>
      log.warn(
        { network, route, bundleId, engine: answer.engine, suppressedCount },
        'the engine named another bundle',
      ),
    )
    // Accepted or not: nobody could ask for a bundle by this.
    const isId = route === '/relay' || answer.result?.startsWith('"') === true
    return isId ? answer : { ...answer, outcome: 'unknown', result: null }
  }

  /** All that can be made of a bundle before its signatures are known to be right. */
  const prepare = ({ begun, list }: Opened, { pending, submissionId }: Attempted): Prepared => {
    const { bundleId, signatures } = begun
    // A well-formed transaction has a signature: without one this is a fault of ours, and nothing
    // is forwarded.
    if (bundleId === undefined) throw new Error('a bundle that passed its checks has no id')
    return {
      bundleId,
      // Neither base58 nor hex needs an escape.
      result: route === '/relay' ? `["${signatures.join('","')}"]` : `"${bundleId}"`,
      key: keyOf(bundleId),
      send: engine.prepareBundle(list),
      begin: book.prepare(submissionId, pending),
    }
  }

  /** A prepared bundle as it flies. `send` is called when nothing stands in its way any more. */
  const toBundle = (
    prepared: Prepared,
    { pending, submissionId, startMs }: Attempted,
    send: () => Promise<EngineAnswer>,
  ): Bundle => ({
    key: prepared.key,
    id: submissionId,
    prepare: () => {
      if (!bucket.take()) return 'full'
      const sentAtMs = now()
      const isNow = sentAtMs - pending.receivedAtMs <= BEGIN_MS_OFF
      const begin = isNow
        ? prepared.begin
        : book.prepare(submissionId, { ...pending, forwardedAtMs: sentAtMs })
      const flight = begin()
      if (flight === undefined) return 'full'
      return (): Begun => {
        meter.onForward(clock() - startMs)
        const ended = send().then((answer): Ending => {
          const { outcome, result, error, engine: said } = compare(answer, prepared)
          const isSent = said !== null || outcome === 'unknown'
          const forwardedAtMs = isSent ? sentAtMs : null
          return { outcome, result, error, engine: said, forwardedAtMs, answeredAtMs: now() }
        })
        return { ended, stored: ended.then(ending => flight.end(ending)) }
      }
    },
  })

  const fly = (prepared: Prepared, attempted: Attempted): Promise<Flown> => {
    const { bundleId } = prepared
    return flights.fly({
      ...toBundle(prepared, attempted, () => prepared.send()),
      isSame: other =>
        other.bundleId === bundleId && other.route === route && other.network === network,
    })
  }

  /**
   * Bundles that do not fly early, after the last one whose signatures were not known in time, and
   * from now on.
   */
  const pause = { length: 0, left: 0 }
  const mayFlyEarly = (): boolean => {
    if (pause.left === 0) return engine.isWarm()
    pause.left--
    return false
  }
  const noteLate = (): void => {
    pause.length = Math.min(EARLY_PAUSE_MAX, Math.max(1, 2 * pause.length))
    pause.left = pause.length
  }

  /**
   * Sends a bundle whose signatures are still looked at: the HTTP client takes a turn of the loop
   * before it writes. All that must be before the first byte is asked in that turn; where one
   * answer is no, or not there, nothing is written.
   */
  const flyEarly = async (
    prepared: Prepared,
    { attempted, origin, judge, wrongSignature }: EarlyParts,
  ): Promise<Early> => {
    let early: Early = {}
    let sent: Promise<EngineAnswer | undefined> | undefined
    const answer = async (): Promise<EngineAnswer> => {
      // A connection that was never used is written to at once: then there is nothing to wait for
      // yet.
      if (sent === undefined) await undefined
      const answered = await sent
      if (answered === undefined) throw new Error('a bundle that flies was held back')
      return answered
    }
    const mayWrite = (): boolean => {
      try {
        const wrong = wrongSignature()
        early = { wrong }
        if (wrong instanceof Promise) {
          noteLate()
          return false
        }
        pause.length = 0
        judge(wrong)
        const refused = origin.recheck()
        if (refused !== undefined) early = { refused }
        if (refused !== undefined) return false
        const flown = flights.begin(toBundle(prepared, attempted, answer))
        if (flown === 'flying') return false
        early = { flown }
        return flown !== 'full'
      } catch (error) {
        early = { error }
        return false
      }
    }
    sent = prepared.send(mayWrite)
    await sent
    return early
  }

  /**
   * How a submission landed. Where it was another one that flew, or none, what is its own of that
   * is kept.
   */
  const land = (flown: Flown, { pending, submissionId }: Attempted): Landed => {
    if (typeof flown !== 'string' && flown.joined === null) return flown
    if (typeof flown !== 'string') meter.onJoined()
    const { outcome, result, error, engine } =
      typeof flown === 'string' ? { ...pending, outcome: flown } : flown.ending
    const joined = typeof flown === 'string' ? null : flown.joined
    const times = { forwardedAtMs: null, answeredAtMs: now() }
    const own = { ...pending, joined, outcome, result, error, engine, ...times }
    book.record(submissionId, own)
    return { ending: own, joined }
  }

  const toOutcome = (
    { ending, joined }: Landed,
    { bundleId, result }: Prepared,
    submissionId: Uint8Array,
  ): Outcome => {
    switch (ending.outcome) {
      case 'accepted':
        return { result: route === '/relay' ? result : (ending.result ?? '') }
      case 'refused':
        if (ending.error !== null) return { error: ending.error }
        return new RpcError('engineRefused', { status: ending.engine?.status ?? 0 })
      case 'full':
        return new RpcError('engineFull')
      case 'unreachable':
        return new RpcError('upstreamUnreachable')
      default: {
        const id = formatId(submissionId)
        unknowns(suppressedCount =>
          log.warn(
            { network, route, submissionId: id, bundleId, joined, suppressedCount },
            'submission outcome unknown',
          ),
        )
        return new RpcError('outcomeUnknown', undefined, { submissionId: id })
      }
    }
  }

  return async (open, origin) => {
    const { submissionId } = origin
    const [startMs, receivedAtMs] = [clock(), now()]
    let opened: Opened | undefined
    let attempted: Attempted
    let prepared: Prepared
    let early: Early = {}
    try {
      opened = open()
      const { begun } = opened
      const { wrongSignature } = begun
      judgeMembers(begun)
      if (wrongSignature === undefined) throw new Error('signatures are not looked at')
      // Meanwhile other threads check them.
      attempted = { pending: toPending(origin, receivedAtMs, begun), submissionId, startMs }
      prepared = prepare(opened, attempted)
      const judge = (wrong: number | undefined): void => judgeSigned(begun, wrong, floors)
      if (mayFlyEarly())
        early = await flyEarly(prepared, { attempted, origin, judge, wrongSignature })
      if ('error' in early) throw early.error
      const isJudged = early.flown !== undefined || early.refused !== undefined
      if (!isJudged) judge(await ('wrong' in early ? early.wrong : wrongSignature()))
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const outcome = error.name === 'checksOverloaded' ? 'full' : 'invalid'
      const pending = toPending(origin, receivedAtMs, opened?.begun)
      const times = { forwardedAtMs: null, answeredAtMs: now() }
      book.record(submissionId, { ...pending, outcome, checks: error.message, ...times })
      return { outcome: error, bundleId: opened?.begun.bundleId }
    }
    const { bundleId } = prepared
    const refused = early.flown === undefined ? (early.refused ?? origin.recheck()) : undefined
    if (refused !== undefined) return { outcome: { reply: refused }, bundleId }
    const flown = await (early.flown ?? fly(prepared, attempted))
    const landed = land(flown, attempted)
    return { outcome: toOutcome(landed, prepared, submissionId), bundleId }
  }
}
