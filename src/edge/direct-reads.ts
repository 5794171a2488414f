import type { Principal } from '../access/limiter/usage-limiter.js'
import {
  openDirectReads,
  type DirectReads as NativeReads,
  type PointReadLane,
} from '../native/server/direct-reads.js'
import { FAST_METHODS } from '../native/reader.js'
import { BUCKET_SECONDS, type Metrics } from '../shared/metrics.js'

/** Tokens of a location that are known to the compiled server at a time, about 300 bytes each. */
const TOKENS_MAX = 65_536

/** What was registered for a principal: until one of these changes, it need not be again. */
type Registered = {
  readonly version: number
  readonly minuteEndsMs: number
  readonly lane: PointReadLane
}

/** An admitted request: the token it came with, and the version that was read before. */
export type AdmittedRead = {
  readonly token: string
  readonly version: number
  readonly lane: PointReadLane | undefined
}

export type DirectReadsParts = {
  /** Cells of which the first are accessVersion and the end of the lease. */
  readonly versionCells: Float64Array
  readonly bodyBytesMax: number
  /** Bytes of a reply that count as one request. */
  readonly replyBytes: number
}

/**
 * Has the compiled server answer canonical point reads of one location without JavaScript, for
 * tokens that were admitted here before. It declines whatever this has not decided, and then the
 * request comes here.
 */
export class DirectReads {
  private readonly native: NativeReads
  private readonly bodyBytesMax: number
  private readonly registered = new WeakMap<Principal, Registered>()

  constructor({ versionCells, bodyBytesMax, replyBytes }: DirectReadsParts) {
    this.bodyBytesMax = bodyBytesMax
    this.native = openDirectReads({
      version: versionCells,
      bucketSeconds: [...BUCKET_SECONDS],
      tokensMax: TOKENS_MAX,
      replyBytes,
    })
  }

  /** Called when the server opens; see `ServerParts`. */
  mount(app: number, typeLines: string): void {
    this.native.mount(app, typeLines, this.bodyBytesMax)
  }

  /** Registers the token of a request that was admitted within its limits. */
  register(principal: Principal, { token, version, lane }: AdmittedRead): void {
    const { grant, access, meter } = principal
    if (lane === undefined || grant.address !== undefined) return
    const known = this.registered.get(principal)
    const usage = meter.current
    const isKnown =
      known?.version === version && known.minuteEndsMs === usage.endsMs && known.lane === lane
    if (isKnown) return
    const { cells, endsMs: minuteEndsMs, minuteAt } = usage
    this.registered.set(principal, { version, minuteEndsMs, lane })
    const { validFromMs, validUntilMs } = grant
    const admission = {
      version,
      validFromMs,
      validUntilMs,
      usage: cells,
      minuteAt,
      stateAt: meter.stateAt,
      methodsAt: meter.slotsOf(FAST_METHODS),
      minuteEndsMs,
    }
    this.native.register(token, admission, access, lane)
  }

  /** Reports what was answered since the last call. */
  meter(metrics: Metrics): void {
    const counts = this.native.takeCounts()
    const width = counts.length / FAST_METHODS.length
    for (const [index, method] of FAST_METHODS.entries()) {
      const cells = counts.slice(index * width, (index + 1) * width)
      const total = cells.slice(0, -1).reduce((sum, count) => sum + count, 0)
      if (total === 0) continue
      metrics.counter('requests', { method, outcome: 'ok' }).add(total)
      metrics.histogram('requestSeconds', { method }).addAll(cells)
    }
  }

  /** From now on every request comes here. */
  close(): void {
    this.native.close()
  }
}
