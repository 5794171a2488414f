// A client of WebSockets for the bench: it counts bytes, and frames only its own control
// connection.
import net from 'node:net'
import type { Command } from '../peers/sockets.js'

/** Opened at a time: a listening socket's queue is short. */
const TOGETHER = 100

export type SocketClient = {
  readonly socket: net.Socket
  /** Bytes since the handshake. */
  bytes: number
  text: string
  wake: () => void
}

/** Of a frame with up to 65,535 bytes: the length in one byte, or in two behind `126`. */
export const toLength = (bytes: number): [number, ...number[]] =>
  bytes < 126 ? [bytes] : [126, bytes >> 8, bytes & 0xff]

/** A frame of text, or of bytes, with a mask of zeros, which leaves the payload as it is. */
export const toFrame = (payload: string | Uint8Array): Buffer => {
  const body = Buffer.from(payload)
  const opcode = typeof payload === 'string' ? 0x81 : 0x82
  const [length, ...rest] = toLength(body.length)
  return Buffer.concat([Buffer.from([opcode, 0x80 | length, ...rest, 0, 0, 0, 0]), body])
}

/** The request of a handshake. */
export const toHandshake = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

const open = (port: number, path: string): Promise<SocketClient> =>
  new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    const client: SocketClient = { socket, bytes: -1, text: '', wake: () => {} }
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
    socket.write(toHandshake(path))
  })

export const openMany = async (
  port: number,
  count: number,
  path = '/token',
): Promise<SocketClient[]> => {
  const clients: SocketClient[] = []
  while (clients.length < count) {
    const opening = Array.from({ length: Math.min(TOGETHER, count - clients.length) }, () =>
      open(port, path),
    )
    clients.push(...(await Promise.all(opening)))
  }
  return clients
}

export const untilBytes = (client: SocketClient, bytes: number): Promise<void> =>
  new Promise(resolve => {
    client.wake = () => {
      if (client.bytes >= bytes) resolve()
    }
    client.wake()
  })

/** Asks the server one thing after the other, at its `/control`. */
export const openControl = async (port: number) => {
  const control = await open(port, '/control')
  return async <Answer>(asked: Command): Promise<Answer> => {
    const { bytes } = control
    control.socket.write(toFrame(JSON.stringify(asked)))
    await untilBytes(control, bytes + 1)
    return JSON.parse(control.text) as Answer
  }
}
