// A WebSocket client that costs little: it parses frames and nothing in them.
import net from 'node:net'

/** A masked text frame whose mask is zeros. */
const toFrame = (text: string): Buffer => {
  const body = Buffer.from(text)
  const head = Buffer.alloc(8)
  head[0] = 0x81
  head[1] = 0x80 | 126
  head.writeUInt16BE(body.length, 2)
  return Buffer.concat([head, body])
}

/** Received bytes of all sockets: a buffer for each read would be collected in a measured round. */
const received = Buffer.alloc(65_536)

/** A socket with minimal work per message. */
export type Listener = {
  onMessage: (body: Buffer) => void
  send(text: string): void
  /** What comes is left to the operating system. */
  pause(): void
  resume(): void
  close(): void
}

/** Opens a WebSocket. */
export const openListener = async (port: number, path: string): Promise<Listener> => {
  let unparsed: Buffer = Buffer.alloc(0)
  const parse = (data: Buffer): void => {
    const all = unparsed.length === 0 ? data : Buffer.concat([unparsed, data])
    for (let at = 0; ;) {
      const short = all.length >= at + 4 ? (all[at + 1] ?? 0) : -1
      const start = at + (short === 126 ? 4 : 2)
      const end = start + (short === 126 ? all.readUInt16BE(at + 2) : short)
      if (short < 0 || short > 126 || end > all.length) {
        unparsed = Buffer.from(all.subarray(at))
        return
      }
      listener.onMessage(all.subarray(start, end))
      at = end
    }
  }
  let onRead: (data: Buffer) => void = () => {}
  const callback = (bytes: number): boolean => {
    onRead(received.subarray(0, bytes))
    return true
  }
  const socket = net.connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: { buffer: received, callback },
  })
  const listener: Listener = {
    onMessage: () => {},
    send: text => void socket.write(toFrame(text)),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => void socket.destroy(),
  }
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    onRead = data => {
      onRead = parse
      if (data.toString('latin1').startsWith('HTTP/1.1 101 ')) return resolve()
      reject(new Error('the edge refused a WebSocket'))
    }
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
  })
  return listener
}
