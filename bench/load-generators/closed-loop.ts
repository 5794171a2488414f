// As many requests as the server answers: each connection sends the next one when its reply is in.
import { onStart } from '../child.js'
import { Connection, toWire, type Exchange, type Outcome, type Target } from './connection.js'
import { toFrames, WebSocketConnection } from './websocket-connection.js'

export type ClosedLoop = {
  readonly target: Target
  readonly exchanges: readonly Exchange[]
  readonly connectionCount: number
  readonly warmMs: number
  readonly durationMs: number
}

/** Its results. */
export type ClosedLoopResult = {
  /** In the measured time. */
  readonly requestsPerSecond: number
  /** Right answers over the whole time, warming included. */
  readonly answered: number
  /** Replies that are not the expected ones. */
  readonly wrong: number
  /** Requests without a reply. */
  readonly lost: number
  /** One of the wrong answers, where the client keeps any. */
  readonly wrongAnswer?: string | undefined
  /**
   * Share of one core that the client itself used: near 1 it, and not the server, was the limit.
   */
  readonly clientCpu: number
}

onStart<ClosedLoop, ClosedLoopResult>(
  async ({ target, exchanges, connectionCount, warmMs, durationMs }) => {
    const isWebSocket = target.isWebSocket === true
    const wires = isWebSocket ? toFrames(exchanges) : toWire(target, exchanges)
    const counts: Record<Outcome, number> = { ok: 0, wrong: 0, lost: 0 }
    let next = 0
    let isStopping = false

    const send = (connection: Connection | WebSocketConnection): void => {
      const wire = wires[next++ % wires.length]
      if (wire !== undefined) connection.send(wire)
    }
    const onReply = (connection: Connection | WebSocketConnection, outcome: Outcome): void => {
      counts[outcome] += 1
      // A lost connection is not replaced: the run has failed.
      if (!isStopping && outcome !== 'lost') send(connection)
    }
    const connections = Array.from({ length: connectionCount }, () =>
      isWebSocket
        ? new WebSocketConnection(target, send, onReply)
        : new Connection(target.port, send, onReply),
    )
    const wait = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
    await wait(warmMs)
    const answeredBefore = counts.ok
    const cpuBefore = process.cpuUsage()
    const from = performance.now()
    await wait(durationMs)
    const seconds = (performance.now() - from) / 1000
    const answered = counts.ok - answeredBefore
    const cpu = process.cpuUsage(cpuBefore)
    isStopping = true
    // Replies in flight are awaited, too: requests sent = replies.
    for (let waited = 0; waited < 2_000 && connections.some(one => one.isBusy); waited += 10)
      await wait(10)
    const unanswered = connections.filter(one => one.isBusy).length
    for (const connection of connections) connection.close()
    return {
      requestsPerSecond: answered / seconds,
      answered: counts.ok,
      wrong: counts.wrong,
      lost: counts.lost + unanswered,
      clientCpu: (cpu.user + cpu.system) / 1e6 / seconds,
    }
  },
)
