import { createHash } from 'node:crypto'
import { RpcError } from '../shared/errors.js'
import type { Params } from '../shared/jsonrpc.js'
import type { Verdict } from '../shared/transaction-checks.js'
import {
  BUNDLE_FORMS,
  judgeMembers,
  judgeSigned,
  toTransactions,
  TRANSACTION_BYTES_MAX,
} from './bundle.js'
import type { Engine } from './engine.js'
import type { EngineAnswer } from './engine-answer.js'
import type { Begun, Flown } from './flights.js'
import type { Flight } from './ledger.js'
import type { Answer, Outcome, RelayModules, RelayOptions, RelayOrigin } from './relay-parts.js'
import { createSeldom, LOG_PAUSE_MS } from './seldom.js'
import { formatId } from './submission-id.js'
import type { Submission } from './submission.js'

/** A bundle as it would fly. */
type Prepared = {
  readonly bundleId: string
  readonly signatures: readonly string[]
  readonly key: Uint8Array
  readonly send: () => Promise<EngineAnswer>
  readonly pending: Submission
  /** Keeps `pending` in the ledger. */
  readonly begin: () => Flight | undefined
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
  const compare = (answer: EngineAnswer, { bundleId, signatures }: Prepared): EngineAnswer => {
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

  const toPending = (record: Submission): Submission => ({
    ...record,
    outcome: 'pending',
    forwardedAtMs: now(),
  })

  /** All that can be made of a bundle before its signatures are known to be right. */
  const prepare = (
    transactions: readonly string[],
    { bundleId }: Verdict,
    record: Submission,
    submissionId: Uint8Array,
  ): Prepared => {
    const { signatures } = record
    // A well-formed transaction has a signature: without one this is a fault of ours, and nothing is forwarded.
    if (bundleId === undefined || signatures.length !== transactions.length)
      throw new Error('a bundle that passed its checks has no id')
    const pending = toPending(record)
    return {
      bundleId,
      signatures,
      key: keyOf(bundleId),
      send: engine.prepareBundle(transactions),
      pending,
      begin: book.prepare(submissionId, pending),
    }
  }

  const fly = (
    prepared: Prepared,
    record: Submission,
    submissionId: Uint8Array,
    startMs: number,
  ) => {
    const { bundleId, key, send } = prepared
    return flights.fly({
      key,
      id: submissionId,
      isSame: other =>
        other.bundleId === bundleId && other.route === route && other.network === network,
      prepare: () => {
        if (!bucket.take()) return 'full'
        // Time has passed in the checks, mostly less than the clock shows.
        const isNow = prepared.pending.forwardedAtMs === now()
        const pending = isNow ? prepared.pending : toPending(record)
        const flight = (isNow ? prepared.begin : book.prepare(submissionId, pending))()
        if (flight === undefined) return 'full'
        return (): Begun => {
          meter.onForward(clock() - startMs)
          const ended = send().then(answer => {
            const compared = compare(answer, prepared)
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
    let prepared: Prepared
    try {
      const transactions = toTransactions(params, form)
      const { verdict, wrongSignature } = checks.beginBundle(transactions, TRANSACTION_BYTES_MAX)
      record = { ...record, bundleId: verdict.bundleId ?? null, signatures: signaturesOf(verdict) }
      judgeMembers(verdict)
      if (wrongSignature === undefined) throw new Error('signatures are not looked at')
      // Meanwhile other threads check them.
      prepared = prepare(transactions, verdict, record, submissionId)
      judgeSigned(verdict, await wrongSignature(), floors)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      const outcome = error.name === 'checksOverloaded' ? 'full' : 'invalid'
      const refused = { ...record, outcome, checks: error.message, answeredAtMs: now() } as const
      book.record(submissionId, refused)
      return { outcome: error, bundleId: record.bundleId ?? undefined }
    }
    const { bundleId } = prepared
    const refused = origin.recheck()
    if (refused !== undefined) return { outcome: { reply: refused }, bundleId }
    const flown = await fly(prepared, record, submissionId, startMs)
    const ended = keep(flown, record, submissionId)
    return { outcome: toOutcome(ended, submissionId), bundleId }
  }
}
