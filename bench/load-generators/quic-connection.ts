import type { QuicLane } from '../../src/native/upstream/quic-lane.js'
import { untilConnected } from '../../test/fixtures/server/quic.js'
import { isRight, SHOWN_BYTES, type Exchange, type Outcome, type Wire } from './connection.js'

const VERSION = 1
const ACCEPTED = 200
const HEAD_BYTES = 6

/** The bytes of each transaction, and the frame with its signature. */
export const toStreams = (exchanges: readonly Exchange[]): Wire[] =>
  exchanges.map(({ body, reply }) => {
    const head = Buffer.alloc(HEAD_BYTES)
    head.writeUInt8(VERSION, 0)
    head.writeUInt16BE(ACCEPTED, 2)
    head.writeUInt16BE(reply.length, 4)
    return { request: Buffer.from(body), reply: Buffer.concat([head, Buffer.from(reply)]) }
  })

/** One stream after the other on a shared QUIC connection. Each answer is compared. */
export class QuicConnection {
  readonly #lane: QuicLane
  readonly #onReply: (connection: QuicConnection, outcome: Outcome) => void
  #isEnded = false
  isBusy = false
  sentAt = 0
  /** The beginning of the last answer that was wrong; empty before the first. */
  wrongReply = ''

  constructor(
    lane: QuicLane,
    onOpen: (connection: QuicConnection) => void,
    onReply: (connection: QuicConnection, outcome: Outcome) => void,
  ) {
    this.#lane = lane
    this.#onReply = onReply
    void untilConnected(lane).then(() => onOpen(this))
  }

  send(wire: Wire): void {
    this.isBusy = true
    this.sentAt = performance.now()
    void this.#ask(wire)
  }

  close(): void {
    this.#isEnded = true
  }

  async #ask(wire: Wire): Promise<void> {
    const { end, answer, reason } = await this.#lane.send(wire.request)
    if (this.#isEnded) return
    this.isBusy = false
    const bytes = Buffer.from(answer ?? [])
    if (bytes.length === wire.reply.length && isRight(wire, bytes)) return this.#onReply(this, 'ok')
    this.wrongReply = `${end} ${reason} ${bytes.toString('latin1', 0, SHOWN_BYTES)}`
    this.#onReply(this, end === 'answered' ? 'wrong' : 'lost')
  }
}
