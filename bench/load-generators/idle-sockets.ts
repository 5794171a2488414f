// Opens many idle WebSockets, then subscribes all of them and counts the notifications.
import { onStart } from '../child.js'
import type { Memory, Published } from '../peers/sockets.js'
import { openControl, openMany, toFrame, untilBytes } from './socket.js'

export type IdleSockets = {
  readonly port: number
  readonly count: number
  /** Opened and closed before: what a process takes once is no socket's. */
  readonly warmCount: number
  readonly publishTimes: number
  readonly frameBytes: number
}

/** Its results: per socket in bytes, per frame and socket in microseconds. */
export type IdleSocketsResult = {
  readonly rssBytes: number
  readonly heapBytes: number
  readonly publishMicros: number
  readonly publishCpuMicros: number
}

onStart<IdleSockets, IdleSocketsResult>(
  async ({ port, count, warmCount, publishTimes, frameBytes }) => {
    const command = await openControl(port)
    for (const { socket } of await openMany(port, warmCount)) socket.destroy()
    await new Promise(resolve => setTimeout(resolve, 300))
    const before = await command<Memory>({ kind: 'memory' })
    const clients = await openMany(port, count)
    const after = await command<Memory>({ kind: 'memory' })

    for (const { socket } of clients) socket.write(toFrame('subscribe'))
    // `ok`, and two bytes before it.
    await Promise.all(clients.map(client => untilBytes(client, 4)))
    for (const client of clients) client.bytes = 0
    const all = clients.map(client => untilBytes(client, publishTimes * (frameBytes + 4)))
    const published = await command<Published>({
      kind: 'publish',
      times: publishTimes,
      bytes: frameBytes,
    })
    await Promise.all(all)
    const frames = publishTimes * count
    return {
      rssBytes: (after.rss - before.rss) / count,
      heapBytes: (after.heapUsed - before.heapUsed) / count,
      publishMicros: (published.elapsedMs * 1_000) / frames,
      publishCpuMicros: (published.cpuMs * 1_000) / frames,
    }
  },
)
