import { RpcError } from '../../shared/errors.js'
import type { Params } from '../../shared/jsonrpc.js'
import { createLogThrottle, LOG_PAUSE_MS } from '../../shared/log-throttle.js'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { SendResult } from '../single-flight.js'
import { membersOf } from '../store/members.js'
import { formatId } from '../store/submission-id.js'
import type { Submission } from '../store/submission.js'
import {
  BUNDLE_FORMS,
  checkMembers,
  RELAY_TRANSACTION_BYTES_MAX,
  toTransactions,
} from './bundle.js'
import type {
  CallOutcome,
  CheckedBundle,
  Outcome,
  RelayModules,
  RelayOptions,
  RelayOrigin,
} from './relay-types.js'
import { expectedResult } from './send-bundle.js'

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

const isTexts = (value: unknown): value is readonly string[] =>
  isList(value) && value.every(text => typeof text === 'string')

/** How a bundle ends that the sender was handed, by why there is no result. */
const FAILED = { full: 'full', 'no-response': 'unknown' } as const

/** Checks the bundles of one relay route at an edge, and hands them to the sender. */
export class BundleChecks {
  private readonly options: RelayOptions
  private readonly modules: RelayModules
  private readonly unknowns

  constructor(options: RelayOptions, modules: RelayModules) {
    this.options = options
    this.modules = modules
    this.unknowns = createLogThrottle(LOG_PAUSE_MS, modules.clock)
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
    // Before the accesses are looked at: a later change has the sender ask again.
    const version = this.modules.version()
    const refused = origin.recheck()
    if (refused !== undefined) return { outcome: { reply: refused }, bundleId }
    const bundle = { submissionId, startMs, transactions, bundleId, pending, version }
    const sent = await this.handOver(bundle, origin)
    if (sent === 'no-sender') return { outcome: { reply: this.modules.noSender }, bundleId }
    // Its access may have ended while it waited for the engine.
    const hasWaited = typeof sent !== 'string' && sent.ending.forwardedAtMs === null
    const ended = hasWaited ? origin.recheck() : undefined
    const outcome = ended === undefined ? this.toOutcome(sent, bundle) : { reply: ended }
    return { outcome, bundleId }
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

  /** What the sender has not recorded because it ended is recorded by the next one. */
  private async handOver(
    bundle: CheckedBundle,
    { recheck }: RelayOrigin,
  ): Promise<SendResult | 'no-sender'> {
    try {
      return await this.modules.sender.send(bundle, () => recheck() !== undefined)
    } catch (failure) {
      if (!(failure instanceof UpstreamFailure)) throw failure
      if (failure.kind === 'unreachable') return 'no-sender'
      const outcome = FAILED[failure.kind]
      const times = { forwardedAtMs: null, answeredAtMs: this.modules.now() }
      this.modules.sender.record(bundle.submissionId, { ...bundle.pending, outcome, ...times })
      return outcome
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
    this.modules.sender.record(id, { ...pending, outcome, checks: error.message, ...times })
  }

  private toOutcome(sent: SendResult, { bundleId, pending, submissionId }: CheckedBundle): Outcome {
    const { network, route } = this.options
    const { ending, joined } =
      typeof sent === 'string' ? { ending: { ...pending, outcome: sent }, joined: null } : sent
    switch (ending.outcome) {
      case 'accepted':
        return { result: expectedResult(route, bundleId, pending.signatures) }
      case 'refused':
        if (ending.error !== null) return { error: ending.error }
        return new RpcError('engineRefused', { status: ending.engine?.status ?? 0 })
      case 'full':
        return new RpcError('engineFull')
      case 'unreachable':
        return new RpcError('upstreamUnreachable')
      default: {
        const id = formatId(submissionId)
        this.unknowns(suppressedCount =>
          this.modules.log.warn(
            { network, route, submissionId: id, bundleId, joined, suppressedCount },
            'submission outcome unknown',
          ),
        )
        return new RpcError('outcomeUnknown', undefined, { submissionId: id })
      }
    }
  }
}
