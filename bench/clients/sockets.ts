// Opens many WebSockets that do nothing, then subscribes all of them and counts what comes.
import net from 'node:net'
import { onStart } from '../child.js'
import type { Command, Memory, Published } from '../peers/sockets.js'

export type Herd = {
  readonly port: number
  readonly count: number
  /** Opened and closed before: what a process takes once is no socket's. */
  readonly warmCount: number
  readonly publishTimes: number
  readonly frameBytes: number
}

/** What came of it, for each socket in bytes, for each frame and socket in microseconds. */
export type Herded = {
  readonly rssBytes: number
  readonly heapBytes: number
  readonly publishMicros: number
  readonly publishCpuMicros: number
}

/** Opened at a time: a listening socket's queue is short. */
const TOGETHER = 100

type Client = {
  readonly socket: net.Socket
  /** Bytes since the handshake. */
  bytes: number
  text: string
  wake: () => void
}

/** A text frame with a mask of zeros: what is sent is what is meant. */
const toFrame = (text: string): Buffer => {
  const body = Buffer.from(text)
  return Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body])
}

const open = (port: number, path: string): Promise<Client> =>
  new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    const client: Client = { socket, bytes: -1, text: '', wake: () => {} }
    socket.once('error', reject)
    socket.on('data', data => {
      if (client.bytes === -1) {
        if (!data.toString('latin1').startsWith('HTTP/1.1 101 ')) {
          return reject(new Error(`refused: ${data.toString('latin1').slice(0, 60)}`))
        }
        // Nothing follows a handshake unasked.
        client.bytes = 0
        return resolve(client)
      }
      client.bytes += data.length
      if (path === '/control') client.text = data.subarray(data[1] === 126 ? 4 : 2).toString()
      client.wake()
    })
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
  })

const openMany = async (port: number, count: number): Promise<Client[]> => {
  const clients: Client[] = []
  while (clients.length < count) {
    const opening = Array.from({ length: Math.min(TOGETHER, count - clients.length) }, () =>
      open(port, '/token'),
    )
    clients.push(...(await Promise.all(opening)))
  }
  return clients
}

const untilBytes = (client: Client, bytes: number): Promise<void> =>
  new Promise(resolve => {
    client.wake = () => {
      if (client.bytes >= bytes) resolve()
    }
    client.wake()
  })

onStart<Herd, Herded>(async ({ port, count, warmCount, publishTimes, frameBytes }) => {
  const control = await open(port, '/control')
  const command = async <Answer>(asked: Command): Promise<Answer> => {
    const { bytes } = control
    control.socket.write(toFrame(JSON.stringify(asked)))
    await untilBytes(control, bytes + 1)
    return JSON.parse(control.text) as Answer
  }
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
})
