// WebSockets that read a stream for a while, and then stop reading without a word.
import { onStart } from '../child.js'
import { openMany, toFrame, untilBytes } from './socket.js'

export type StoppedSubscribers = {
  readonly port: number
  readonly count: number
  /** From the time that all are subscribed. */
  readonly readMs: number
}

onStart<StoppedSubscribers, null>(async ({ port, count, readMs }) => {
  const clients = await openMany(port, count)
  for (const { socket } of clients) {
    // The server closes them: a reset is expected.
    socket.on('error', () => {})
    socket.write(toFrame('subscribe'))
  }
  await Promise.all(clients.map(client => untilBytes(client, 4)))
  setTimeout(() => clients.forEach(({ socket }) => socket.pause()), readMs)
  return null
})
