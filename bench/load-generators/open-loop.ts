// Latency at a fixed rate, open loop. autocannon cannot do this: at `overallRate` it sends a whole
// second's requests at once, waits for each reply before the next, and counts in whole
// milliseconds.
import { setRealtime, setSlice } from '../../src/native/os.js'
import type { QuicLane } from '../../src/native/upstream/quic-lane.js'
import { openQuicClient } from '../../test/fixtures/server/quic.js'
import { onStart } from '../child.js'
import { toBackground } from './background.js'
import {
  Connection,
  toWire,
  type Exchange,
  type Outcome,
  type Target,
  type Wire,
} from './connection.js'
import { QuicConnection, toStreams } from './quic-connection.js'
import { toFrames, WebSocketConnection } from './websocket-connection.js'

export type OpenLoop = {
  readonly target: Target
  readonly exchanges: readonly Exchange[]
  readonly requestsPerSecond: number
  readonly connectionCount: number
  readonly warmMs: number
  readonly durationMs: number
  /** Load beside the measured process, from which it must not take processor time. */
  readonly isBackground?: boolean
}

/**
 * Milliseconds from the time at which a request was due, or was sent, to its complete
 * reply.
 */
export type Latency = {
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly count: number
  readonly failures: number
  /** How the first requests failed. */
  readonly failed: readonly string[]
}

/** A connection with at most one request in flight. */
type AnyConnection = Connection | QuicConnection | WebSocketConnection

const TICK_MS = 1
/** Failures that are described. */
const DESCRIBED_MAX = 5

const quantile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN

/** Microseconds. */
const OWN_TURN = 100

/** As many streams as a location allows: one that was answered counts for a moment longer. */
const openQuic = ({ port, path }: Target): QuicLane =>
  openQuicClient({ port, token: path.slice(1), streamsMax: 64 })

const toWires = (target: Target, exchanges: readonly Exchange[]): Wire[] => {
  if (target.isQuic === true) return toStreams(exchanges)
  return target.isWebSocket === true ? toFrames(exchanges) : toWire(target, exchanges)
}

onStart<OpenLoop, Latency>(async job => {
  // The client represents another machine: it must not wait for this one's processor.
  if (job.isBackground === true) toBackground()
  else if (!setRealtime()) setSlice(OWN_TURN)
  const { target, exchanges } = job
  const wires = toWires(target, exchanges)
  const samples: number[] = []
  const idle: AnyConnection[] = []
  /**
   * When requests became due that found no connection free: this wait counts as latency, too.
   */
  const overdue: number[] = []
  const owed = new Map<AnyConnection, number>()
  let failures = 0
  const failed: string[] = []
  let next = 0
  let measureFrom = Infinity

  const send = (connection: AnyConnection, dueAt: number | undefined): void => {
    const wire = wires[next++ % wires.length]
    if (wire === undefined) return
    connection.send(wire)
    // The timer's own delay is not the server's: a request that is sent with its tick counts from
    // there.
    owed.set(connection, dueAt ?? connection.sentAt)
  }
  const onOpen = (connection: AnyConnection) => void idle.push(connection)
  const onReply = (connection: AnyConnection, outcome: Outcome): void => {
    const now = performance.now()
    const from = owed.get(connection) ?? now
    if (outcome !== 'ok') {
      failures += 1
      const afterMs = Math.round(now - (measureFrom - job.warmMs))
      if (failed.length < DESCRIBED_MAX)
        failed.push(`${outcome} after ${afterMs} ms: ${connection.wrongReply}`)
    } else if (from >= measureFrom) samples.push(now - from)
    if (outcome === 'lost') {
      const at = idle.indexOf(connection)
      if (at >= 0) idle.splice(at, 1)
      return
    }
    const dueAt = overdue.shift()
    if (dueAt === undefined) idle.push(connection)
    else send(connection, dueAt)
  }
  const quic = target.isQuic === true ? openQuic(target) : undefined
  const connections: AnyConnection[] = Array.from({ length: job.connectionCount }, () => {
    if (quic !== undefined) return new QuicConnection(quic, onOpen, onReply)
    return target.isWebSocket === true
      ? new WebSocketConnection(target, onOpen, onReply)
      : new Connection(target.port, onOpen, onReply)
  })

  const startedAt = performance.now()
  measureFrom = startedAt + job.warmMs
  const endsAt = measureFrom + job.durationMs
  let sent = 0
  await new Promise<void>(resolve => {
    const timer = setInterval(() => {
      const now = performance.now()
      if (now >= endsAt) {
        clearInterval(timer)
        resolve()
        return
      }
      const due = Math.floor(((now - startedAt) / 1000) * job.requestsPerSecond)
      for (; sent < due; sent++) {
        // In turn: a server closes a connection that is not used for long.
        const connection = idle.shift()
        if (connection === undefined) overdue.push(now)
        else send(connection, undefined)
      }
    }, TICK_MS)
  })
  for (let waited = 0; waited < 2_000 && connections.some(one => one.isBusy); waited += 10)
    await new Promise(resolve => setTimeout(resolve, 10))
  const unanswered = overdue.length + connections.filter(one => one.isBusy).length
  failures += unanswered
  if (unanswered > 0) failed.push(`${unanswered} unanswered at the end`)
  for (const connection of connections) connection.close()
  quic?.close()

  const sorted = Float64Array.from(samples).toSorted()
  return {
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    p999: quantile(sorted, 0.999),
    count: sorted.length,
    failures,
    failed,
  }
})
