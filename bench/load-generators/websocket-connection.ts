import { connect, type Socket } from 'node:net'
import type { Exchange, Outcome, Target, Wire } from './connection.js'

const TEXT_OF_A_CLIENT = [0x81, 0x80]
/** Leaves the payload as it is; the server unmasks it as any other. */
const MASK = [0, 0, 0, 0]

/** Of a frame with up to 65,535 bytes: the length in one byte, or in two behind `126`. */
const toLength = (bytes: number): readonly number[] =>
  bytes < 126 ? [bytes] : [126, bytes >> 8, bytes & 0xff]

/** The text frames of each exchange. */
export const toFrames = (exchanges: readonly Exchange[]): Wire[] =>
  exchanges.map(({ body, reply }) => {
    const [first, masked] = TEXT_OF_A_CLIENT as [number, number]
    const [length, ...rest] = toLength(Buffer.byteLength(body))
    const head = [first, masked | (length ?? 0), ...rest, ...MASK]
    const replyHead = [first, ...toLength(Buffer.byteLength(reply))]
    return {
      request: Buffer.concat([Buffer.from(head), Buffer.from(body)]),
      reply: Buffer.concat([Buffer.from(replyHead), Buffer.from(reply)]),
    }
  })

/** A WebSocket with at most one call in flight. Each reply is compared byte for byte. */
export class WebSocketConnection {
  readonly #socket: Socket
  readonly #onReply: (connection: WebSocketConnection, outcome: Outcome) => void
  #wire: Wire | undefined
  #received: Buffer = Buffer.alloc(0)

  constructor(
    { port, path }: Target,
    onOpen: (connection: WebSocketConnection) => void,
    onReply: (connection: WebSocketConnection, outcome: Outcome) => void,
  ) {
    this.#onReply = onReply
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    this.#socket.once('data', head => {
      if (!head.toString('latin1').startsWith('HTTP/1.1 101 ')) return this.#finish('lost')
      this.#socket.on('data', chunk => this.#onData(chunk))
      onOpen(this)
    })
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => {
      if (this.#wire !== undefined) this.#finish('lost')
    })
  }

  get isBusy(): boolean {
    return this.#wire !== undefined
  }

  send(wire: Wire): void {
    this.#wire = wire
    this.#socket.write(wire.request)
  }

  close(): void {
    this.#wire = undefined
    this.#socket.destroy()
  }

  #onData(chunk: Buffer): void {
    if (this.#wire === undefined) return
    const { reply } = this.#wire
    const received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    if (received.length < reply.length) this.#received = received
    else this.#finish(received.equals(reply) ? 'ok' : 'wrong')
  }

  #finish(outcome: Outcome): void {
    this.#wire = undefined
    this.#received = Buffer.alloc(0)
    this.#onReply(this, outcome)
  }
}
