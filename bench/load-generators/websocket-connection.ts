import { connect, type Socket } from 'node:net'
import {
  isRight,
  SHOWN_BYTES,
  type Exchange,
  type Outcome,
  type Target,
  type Wire,
} from './connection.js'
import { toFrame, toHandshake, toLength } from './socket.js'

/** The frames of each exchange: text, or bytes. */
export const toFrames = (exchanges: readonly Exchange[]): Wire[] =>
  exchanges.map(({ body, reply, varying: [from, to] = [0, 0] }) => {
    const isText = typeof body === 'string'
    const answer = Buffer.from(reply, isText ? 'utf8' : 'latin1')
    const head = [isText ? 0x81 : 0x82, ...toLength(answer.length)]
    const whole = Buffer.concat([Buffer.from(head), answer])
    return {
      request: toFrame(body),
      reply: whole,
      fixed: [
        { from: 0, to: head.length + from },
        { from: head.length + to, to: whole.length },
      ],
    }
  })

const isReply = (wire: Wire, received: Buffer): boolean =>
  received.length === wire.reply.length && isRight(wire, received)

/** A WebSocket with at most one call in flight. Each reply is compared byte for byte. */
export class WebSocketConnection {
  readonly #socket: Socket
  readonly #onReply: (connection: WebSocketConnection, outcome: Outcome) => void
  #wire: Wire | undefined
  #isEnded = false
  #received: Buffer = Buffer.alloc(0)
  sentAt = 0
  /** The beginning of the last reply that was wrong; empty before the first. */
  wrongReply = ''

  constructor(
    { port, path }: Target,
    onOpen: (connection: WebSocketConnection) => void,
    onReply: (connection: WebSocketConnection, outcome: Outcome) => void,
  ) {
    this.#onReply = onReply
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.write(toHandshake(path))
    this.#socket.once('data', head => {
      if (!head.toString('latin1').startsWith('HTTP/1.1 101 ')) return this.#finish('lost')
      this.#socket.on('data', chunk => this.#onData(chunk))
      onOpen(this)
    })
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => {
      if (!this.#isEnded) this.#finish('lost')
    })
  }

  get isBusy(): boolean {
    return this.#wire !== undefined
  }

  send(wire: Wire): void {
    this.#wire = wire
    this.sentAt = performance.now()
    this.#socket.write(wire.request)
  }

  close(): void {
    this.#isEnded = true
    this.#wire = undefined
    this.#socket.destroy()
  }

  #onData(chunk: Buffer): void {
    if (this.#wire === undefined) return
    const wire = this.#wire
    const received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    if (received.length < wire.reply.length) {
      this.#received = received
      return
    }
    if (isReply(wire, received)) return this.#finish('ok')
    this.wrongReply = received.toString('latin1', 0, SHOWN_BYTES)
    this.#finish('wrong')
  }

  #finish(outcome: Outcome): void {
    this.#wire = undefined
    this.#received = Buffer.alloc(0)
    this.#onReply(this, outcome)
  }
}
