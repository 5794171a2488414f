import { RpcError, type ErrorName } from '../../shared/errors.js'
import type { Reply } from '../../shared/http.js'
import { formatError, isRefusal, type Id, type Params } from '../../shared/jsonrpc.js'
import type { TransactionChecks, Verdict } from '../../native/transactions.js'
import { parseSubmission } from '../call.js'
import {
  findAll,
  formatFindings,
  gravest,
  type Finding,
  type FindingKind,
  type Payers,
} from './findings.js'
import type { Options } from './options.js'
import { toBundle, toSingle, TRANSACTION_BYTES_MAX } from './params.js'
import type { Upstream, UpstreamReply } from '../../upstream/client.js'
import { UpstreamFailure } from '../../upstream/errors.js'

/** The lander routes, by the path that follows the token. */
export const LANDER_ROUTES = ['/lander', '/lander-submit-bundle', '/lander-submit-batch'] as const
export type LanderRoute = (typeof LANDER_ROUTES)[number]

/** How a request of a lander route ended. */
export type LanderOutcome = 'forwarded' | 'framing' | 'refused' | ErrorName

/** Counts what happens on one network's lander routes. */
export type LanderMeter = {
  /**
   * A request was answered: `forwarded`, whatever the upstream said, `framing` for a batch that is
   * none, `refused` where its access ended meanwhile, or an error.
   */
  onEnd(route: LanderRoute, outcome: LanderOutcome, elapsedMs: number): void
  /** `unchecked`: the answer was there before the findings. They are told all the same, later. */
  onFinding(route: LanderRoute, kind: FindingKind | 'unchecked'): void
}

/** What one network's lander routes work with. */
export type LanderModules = {
  readonly upstream: Upstream
  readonly checks: TransactionChecks
  readonly meter: LanderMeter
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Of a call: see `MessageLimits`. */
  readonly nestingMax: number
}

/** The refusal to send where an access has ended since its request was let in. */
export type Recheck = () => Reply | undefined

/** The lander routes of one network. */
export type Lander = {
  /**
   * Answers one whole body. It is copied before this returns. `recheck` says, right before
   * something is forwarded, why it must not be any more.
   */
  submit(route: LanderRoute, body: Uint8Array, recheck: Recheck): Reply | Promise<Reply>
}

/** How the two routes with a JSON body differ. */
type CallRule = {
  readonly method: string
  readonly toTexts: (params: Params) => readonly string[]
  readonly pathOption: 'transactionPath' | 'bundlePath'
}
const CALLS: Readonly<Record<Exclude<LanderRoute, '/lander-submit-batch'>, CallRule>> = {
  '/lander': { method: 'sendTransaction', toTexts: toSingle, pathOption: 'transactionPath' },
  '/lander-submit-bundle': { method: 'sendBundle', toTexts: toBundle, pathOption: 'bundlePath' },
}

/** Of a bundle one transaction pays the tip. */
const PAYERS: Readonly<Record<LanderRoute, Payers>> = {
  '/lander': 'each',
  '/lander-submit-bundle': 'one',
  '/lander-submit-batch': 'each',
}

const JSON_TYPE = 'application/json'
const BYTES_TYPE = 'application/octet-stream'
const UNCHECKED = 'unchecked'
const METHOD_NOT_FOUND = new RpcError('methodNotFound')

/** Statuses of calls that failed beyond their parameters (contract: lander-failures). Others are 200. */
const STATUSES: Readonly<Partial<Record<ErrorName, number>>> = {
  upstreamUnreachable: 502,
  outcomeUnknown: 504,
  upstreamFull: 503,
  checksOverloaded: 503,
}

const FAILURES = {
  unreachable: new RpcError('upstreamUnreachable'),
  'no-response': new RpcError('outcomeUnknown'),
  full: new RpcError('upstreamFull'),
} as const satisfies Record<UpstreamFailure['kind'], RpcError>

/** One request from its checked body on. */
type Work = {
  readonly route: LanderRoute
  readonly path: string
  readonly contentType: string
  /** A copy: the server's own memory is gone with the first await. */
  readonly body: Buffer
  /** Runs the checks on their pool. */
  readonly check: () => Promise<Verdict>
  readonly refuse: (error: RpcError, finding?: Finding) => Reply
  readonly recheck: Recheck
}

const errorReply = (id: Id, error: RpcError): Reply => ({
  status: STATUSES[error.name] ?? 200,
  contentType: JSON_TYPE,
  body: formatError(id, error),
  ...(error.row.headers !== undefined && { headers: error.row.headers }),
})

/** What a lander answers to a batch of which it takes nothing: no record was forwarded. */
const countsReply = (count: number, problem: string): Reply => ({
  status: 400,
  contentType: JSON_TYPE,
  body: JSON.stringify({ attempted: count, accepted: 0, rejected: count, parse_error: problem }),
})

/** The text about a tip does not say whose. */
const recordProblem = ({ message }: RpcError, { kind, member }: Finding): string =>
  kind === 'tip' ? `record ${member}: ${message}` : message

/** The findings of a request that was forwarded meanwhile. */
class Look {
  /** The header's value once it is known. */
  private value: string | undefined
  private readonly known: Promise<void>

  constructor(known: Promise<string>) {
    this.known = known.then(value => {
      this.value = value
    })
  }

  /** The header's value as far as it is known, undefined where it may still come. */
  now(waitMs: number): string | undefined {
    return this.value ?? (waitMs === 0 ? UNCHECKED : undefined)
  }

  /** Waits for at most so long. */
  async within(waitMs: number): Promise<string> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => (timer = setTimeout(resolve, waitMs)))
    await Promise.race([this.known, late])
    clearTimeout(timer)
    return this.value ?? UNCHECKED
  }
}

/** The lander routes over one upstream. */
export const createLander = (options: Options, modules: LanderModules): Lander => {
  const { upstream, checks, meter, now, nestingMax } = modules
  const floorLamports = BigInt(options.tipFloorLamports)

  const find = (route: LanderRoute, verdict: Verdict): readonly Finding[] =>
    findAll(verdict, { payers: PAYERS[route], floorLamports })

  /** Never rejects: what is only looked at must not fail a request. */
  const look = async ({ route, check }: Work): Promise<string> => {
    try {
      const findings = find(route, await check())
      for (const { kind } of findings) meter.onFinding(route, kind)
      return formatFindings(findings)
    } catch {
      return UNCHECKED
    }
  }

  const send = async (work: Work, startMs: number): Promise<Reply> => {
    const { route, path, contentType, body } = work
    let looked: Look | undefined
    const sent = upstream.send({
      method: 'POST',
      path,
      headers: { 'content-type': contentType },
      body,
      onWritten: () => {
        // In this very turn the bytes are written; the checks come after them.
        if (!options.enforce) queueMicrotask(() => (looked = new Look(look(work))))
      },
    })
    const reply = await sent.then(toReply, error => {
      if (!(error instanceof UpstreamFailure)) throw error
      return FAILURES[error.kind]
    })
    const isForwarded = !(reply instanceof RpcError)
    const waitMs = options.findingsWaitMs
    const findings =
      looked === undefined ? '' : (looked.now(waitMs) ?? (await looked.within(waitMs)))
    if (findings === UNCHECKED) meter.onFinding(route, UNCHECKED)
    meter.onEnd(route, isForwarded ? 'forwarded' : reply.name, now() - startMs)
    const whole = isForwarded ? reply : work.refuse(reply)
    if (findings === '') return whole
    return { ...whole, headers: { ...whole.headers, 'X-Lander-Findings': findings } }
  }

  const sendChecked = async (work: Work, startMs: number): Promise<Reply> => {
    const { route } = work
    let found: Finding | undefined
    let error: RpcError
    try {
      found = gravest(find(route, await work.check()))
      if (found === undefined) {
        const refused = work.recheck()
        if (refused === undefined) return send(work, startMs)
        meter.onEnd(route, 'refused', now() - startMs)
        return refused
      }
      meter.onFinding(route, found.kind)
      error = found.toError()
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown
      error = thrown
    }
    meter.onEnd(route, error.name, now() - startMs)
    return work.refuse(error, found)
  }

  const forward = (work: Work, startMs: number): Promise<Reply> =>
    options.enforce ? sendChecked(work, startMs) : send(work, startMs)

  const submitCall = (
    route: keyof typeof CALLS,
    body: Uint8Array,
    recheck: Recheck,
  ): Reply | Promise<Reply> => {
    const startMs = now()
    const { method, toTexts, pathOption } = CALLS[route]
    const path = options[pathOption]
    const call = parseSubmission(body, nestingMax)
    const refuse = (error: RpcError): Reply => errorReply(call.id, error)
    try {
      if (isRefusal(call)) throw call.error
      if (call.method !== method) throw METHOD_NOT_FOUND
      const texts = toTexts(call.params)
      const check = () => checks.checkBundle(texts, TRANSACTION_BYTES_MAX)
      const kept = Buffer.from(body)
      const contentType = JSON_TYPE
      return forward({ route, path, contentType, body: kept, check, refuse, recheck }, startMs)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      meter.onEnd(route, error.name, now() - startMs)
      return refuse(error)
    }
  }

  const submitBatch = (body: Uint8Array, recheck: Recheck): Reply | Promise<Reply> => {
    const startMs = now()
    const route = '/lander-submit-batch'
    const { count, problem } = checks.frameBatch(body)
    if (problem !== undefined) {
      meter.onEnd(route, 'framing', now() - startMs)
      return countsReply(count, problem)
    }
    const kept = Buffer.from(body)
    return forward(
      {
        route,
        path: options.batchPath,
        contentType: BYTES_TYPE,
        body: kept,
        check: () => checks.checkBatch(kept),
        recheck,
        // What is found in a batch has the batch's form; the rest is about the way to the lander.
        refuse: (error, finding) =>
          finding === undefined
            ? errorReply('null', error)
            : countsReply(count, recordProblem(error, finding)),
      },
      startMs,
    )
  }

  return {
    submit: (route, body, recheck) =>
      route === '/lander-submit-batch'
        ? submitBatch(body, recheck)
        : submitCall(route, body, recheck),
  }
}

const toReply = ({ status, contentType, headers, body }: UpstreamReply): Reply =>
  headers === undefined ? { status, contentType, body } : { status, contentType, body, headers }
