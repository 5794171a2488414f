import { createHash } from 'node:crypto'
import { RpcError } from '../shared/errors.js'
import type { Params } from '../shared/jsonrpc.js'
import type { Verdict } from '../shared/native.js'
import { BUNDLE_FORMS, judgeBundle, toTransactions, TRANSACTION_BYTES_MAX } from './bundle.js'
import type { Engine } from './engine.js'
import type { EngineAnswer } from './engine-answer.js'
import type { Begun, Flown } from './flights.js'
import type { Answer, Outcome, RelayModules, RelayOptions, RelayOrigin } from './relay-parts.js'
import { createSeldom, LOG_PAUSE_MS } from './seldom.js'
import { formatId } from './submission-id.js'
import type { Submission } from './submission.js'

/** A bundle that passed every check. */
type Checked = {
  readonly send: () => Promise<EngineAnswer>
  readonly bundleId: string
  readonly signatures: readonly string[]
}

/** Answers one `sendBundle`. Rejects only with faults of ours, before anything is sent. */
export type SendBundle = (params: Params, origin: RelayOrigin) => Promise<Answer>

const signaturesOf = ({ members }: Verdict): string[] =>
  members.flatMap(({ signature }) => (signature === undefined ? [] : [signature]))

export const createSendBundle = (
  options: RelayOptions,
  engine: Engine,
  { checks, bucket, flights, book, log, now, clock, meter }: RelayModules,
): SendBundle => {
  const { network, route } = options
  const form = BUNDLE_FORMS[route]
  const floors = {
    service: options.serviceTipFloorLamports,
    engine: options.engineTipFloorLamports,
  }
  const mismatches = createSeldom(LOG_PAUSE_MS, clock)
  const unknowns = createSeldom(LOG_PAUSE_MS, clock)
  // Claims are the machine's: the same bundle on another route or network is another one.
  const place = createHash('sha256').update(`${network} ${route}`).digest()
  const keyOf = (bundleId: string): Uint8Array => {
    const key = Buffer.from(bundleId, 'hex')
    for (let index = 0; index < key.length; index++)
      key[index] = (key[index] ?? 0) ^ (place[index] ?? 0)
    return key
  }

  const toRecord = ({ grant }: RelayOrigin, receivedAtMs: number): Submission => ({
    accessId: grant.accessId,
    tokenId: grant.tokenId,
    network,
    location: grant.location,
    route,
    bundleId: null,
    signatures: [],
    receivedAtMs,
    checks: 'passed',
    joined: null,
    forwardedAtMs: null,
    answeredAtMs: null,
    outcome: 'invalid',
    result: null,
    error: null,
    engine: null,
  })

  /** The engine's answer as this route takes it; what differs from what the bundle says is told. */
  const compare = (answer: EngineAnswer, { bundleId, signatures }: Checked): EngineAnswer => {
    if (answer.outcome !== 'accepted') return answer
    const own = JSON.stringify(route === '/relay' ? signatures : bundleId)
    if (answer.result === own) return answer
    meter.onMismatch()
    mismatches(leftOut =>
      log.warn(
        { network, route, bundleId, engine: answer.engine, leftOut },
        'the engine named another bundle',
      ),
    )
    // Accepted or not: nobody could ask for a bundle by this.
    const isId = route === '/relay' || answer.result?.startsWith('"') === true
    return isId ? answer : { ...answer, outcome: 'unknown', result: null }
  }

  const fly = (checked: Checked, record: Submission, submissionId: Uint8Array, startMs: number) => {
    const { bundleId, send } = checked
    return flights.fly({
      key: keyOf(bundleId),
      id: submissionId,
      isSame: other =>
        other.bundleId === bundleId && other.route === route && other.network === network,
      prepare: () => {
        if (!bucket.take()) return 'full'
        const pending: Submission = { ...record, outcome: 'pending', forwardedAtMs: now() }
        const flight = book.begin(submissionId, pending)
        if (flight === undefined) return 'full'
        return (): Begun => {
          meter.onForward(clock() - startMs)
          const ended = send().then(answer => {
            const compared = compare(answer, checked)
            const isSent = compared.engine !== null || compared.outcome === 'unknown'
            const forwardedAtMs = isSent ? pending.forwardedAtMs : null
            return { ...pending, ...compared, forwardedAtMs, answeredAtMs: now() }
          })
          return { ended, stored: ended.then(submission => flight.end(submission)) }
        }
      },
    })
  }

  /** What of a flight is this submission's own, where it was another one that flew, or none. */
  const keep = (flown: Flown, record: Submission, submissionId: Uint8Array): Submission => {
    if (typeof flown !== 'string' && flown.joined === null) return flown.submission
    if (typeof flown !== 'string') meter.onJoined()
    const { outcome, result, error, engine } =
      typeof flown === 'string' ? { ...record, outcome: flown } : flown.submission
    const joined = typeof flown === 'string' ? null : flown.joined
    const own = { ...record, joined, outcome, result, error, engine, answeredAtMs: now() }
    book.record(submissionId, own)
    return own
  }

  const toOutcome = (ended: Submission, submissionId: Uint8Array): Outcome => {
    switch (ended.outcome) {
      case 'accepted':
        return {
          result: route === '/relay' ? JSON.stringify(ended.signatures) : (ended.result ?? ''),
        }
      case 'refused':
        if (ended.error !== null) return { error: ended.error }
        return new RpcError('engineRefused', { status: ended.engine?.status ?? 0 })
      case 'full':
        return new RpcError('engineFull')
      case 'unreachable':
        return new RpcError('upstreamUnreachable')
      default: {
        const { bundleId, joined } = ended
        const id = formatId(submissionId)
        unknowns(leftOut =>
          log.warn(
            { network, route, submissionId: id, bundleId, joined, leftOut },
            'submission outcome unknown',
          ),
        )
        return new RpcError('outcomeUnknown', undefined, { submissionId: id })
      }
    }
  }

  return async (params, origin) => {
    const { submissionId } = origin
    const startMs = clock()
    let record = toRecord(origin, now())
    let checked: Checked
    try {
      const transactions = toTransactions(params, form)
      const checking = checks.checkBundle(transactions, TRANSACTION_BYTES_MAX, true)
      const send = engine.prepareBundle(transactions)
      const verdict = await checking
      record = { ...record, bundleId: verdict.bundleId ?? null, signatures: signaturesOf(verdict) }
      checked = { send, ...judgeBundle(verdict, floors) }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const outcome = error.name === 'checksOverloaded' ? 'full' : 'invalid'
      const refused = { ...record, outcome, checks: error.message, answeredAtMs: now() } as const
      book.record(submissionId, refused)
      return { outcome: error, bundleId: record.bundleId ?? undefined }
    }
    const refused = origin.recheck()
    if (refused !== undefined) return { outcome: { reply: refused }, bundleId: checked.bundleId }
    const flown = await fly(checked, record, submissionId, startMs)
    const ended = keep(flown, record, submissionId)
    return { outcome: toOutcome(ended, submissionId), bundleId: checked.bundleId }
  }
}
