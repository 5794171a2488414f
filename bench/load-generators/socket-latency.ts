// Sends requests one after the other over a WebSocket, under the server's other load.
import { onStart } from '../child.js'
import type { State } from '../peers/sockets.js'
import { openControl } from './socket.js'

export type SocketLatency = {
  readonly port: number
  readonly durationMs: number
  /** It ends before where so few sockets are open. */
  readonly untilSockets: number
}

export type SocketLatencyResult = {
  readonly p50: number
  readonly p99: number
  readonly elapsedMs: number
  readonly rssMax: number
  readonly queuedBytesMax: number
  readonly last: State
}

const PAUSE_MS = 2

onStart<SocketLatency, SocketLatencyResult>(async ({ port, durationMs, untilSockets }) => {
  const command = await openControl(port)
  const times: number[] = []
  const states: State[] = []
  const startMs = performance.now()
  for (;;) {
    const askedMs = performance.now()
    const state = await command<State>({ kind: 'state' })
    times.push(performance.now() - askedMs)
    states.push(state)
    const nowMs = performance.now()
    const isOver = state.sockets <= untilSockets
    if (nowMs - startMs > durationMs || isOver) {
      times.sort((a, b) => a - b)
      const quantile = (share: number) => times[Math.floor(times.length * share)] ?? NaN
      return {
        p50: quantile(0.5),
        p99: quantile(0.99),
        elapsedMs: nowMs - startMs,
        rssMax: Math.max(...states.map(({ rss }) => rss)),
        queuedBytesMax: Math.max(...states.map(({ queuedBytes }) => queuedBytes)),
        last: state,
      }
    }
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
})
