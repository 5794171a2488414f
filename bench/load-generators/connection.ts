import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** One request and the one right answer to it. */
export type Exchange = {
  /** JSON, or bytes of `contentType`. */
  readonly body: string | Uint8Array
  /** Body of the reply, byte for byte. To a binary message each character is a byte. */
  readonly reply: string
  /** Of a chain that advances: the digits of each `"slot":` of the reply may be others. */
  readonly isOfAnySlot?: boolean
  /** Of a route, behind the path of the target. */
  readonly route?: string
  /** Of a reply by WebSocket: the part that differs each time, from its first byte to its end. */
  readonly varying?: readonly [from: number, to: number]
}

/** Where requests are sent, and how. */
export type Target = {
  readonly port: number
  readonly path: string
  /** JSON where it is absent. */
  readonly contentType?: string
  /** Calls are messages of WebSockets. */
  readonly isWebSocket?: boolean
  /** Calls are streams of one QUIC connection; the path is the token. */
  readonly isQuic?: boolean
  readonly isTls?: boolean
}

/** An exchange as bytes on a socket. */
export type Wire = {
  readonly request: Buffer
  readonly reply: Buffer
  /** Ranges of the reply that every right one has; absent where that is all of it. */
  readonly fixed?: readonly Range[]
}

type Range = { readonly from: number; readonly to: number }

/** What can happen to a request. Everything but `ok` fails the run. */
export type Outcome = 'ok' | 'wrong' | 'lost'

/** Bytes of a wrong reply that are shown. */
export const SHOWN_BYTES = 400
const HEAD_END = Buffer.from('\r\n\r\n')
const STATUS = Buffer.from('HTTP/1.1 200 ')
const LENGTH = /\r\ncontent-length: *(\d+)/i

const SLOT_DIGITS = /(?<="slot":)\d+/g

/** All but the slots. */
const betweenSlots = (reply: string): Range[] => {
  const slots = [...Buffer.from(reply).toString('latin1').matchAll(SLOT_DIGITS)]
  const starts = [0, ...slots.map(slot => slot.index + slot[0].length)]
  return starts.map((from, nth) => ({ from, to: slots[nth]?.index ?? Buffer.byteLength(reply) }))
}

/** The bytes of each exchange. */
export const toWire = (target: Target, exchanges: readonly Exchange[]): Wire[] =>
  exchanges.map(({ body, reply, isOfAnySlot = false, route = '' }) => {
    const head = [
      `POST ${target.path}${route} HTTP/1.1`,
      `Host: 127.0.0.1:${target.port}`,
      `Content-Type: ${target.contentType ?? 'application/json'}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    return {
      request: Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.from(body)]),
      reply: Buffer.from(reply),
      ...(isOfAnySlot && { fixed: betweenSlots(reply) }),
    }
  })

/**
 * A keep-alive connection with at most one request in flight. Each reply is compared byte for byte
 * with the one right answer, by `memcmp` and not by an HTTP parser, so that the client costs less
 * than the server.
 */
export class Connection {
  readonly #socket: Socket
  readonly #onReply: (connection: Connection, outcome: Outcome) => void
  #wire: Wire | undefined
  #isEnded = false
  #parts: Buffer[] = []
  #partsBytes = 0
  /** A reply is compared from this many bytes on: each comparison costs a copy. */
  #replyBytes = 0
  /**
   * Bytes of a reply's head, as they were the last time; a server's heads are all of one length.
   */
  #headBytes = 0
  sentAt = 0
  /** The beginning of the last reply that was wrong; empty before the first. */
  wrongReply = ''
  /** Time at which the last bytes of a reply were received, before they were checked. */
  receivedAt = 0

  constructor(
    port: number,
    onOpen: (connection: Connection) => void,
    onReply: (connection: Connection, outcome: Outcome) => void,
    isTls = false,
  ) {
    this.#onReply = onReply
    const to = { port, host: '127.0.0.1' }
    this.#socket = isTls
      ? connectTls({ ...to, rejectUnauthorized: false }).setNoDelay(true)
      : connect({ ...to, noDelay: true })
    this.#socket.on(isTls ? 'secureConnect' : 'connect', () => onOpen(this))
    this.#socket.on('data', chunk => this.#onData(chunk))
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
    this.receivedAt = performance.now()
    if (this.#parts.length === 0 && this.#isReply(chunk, this.#headBytes)) return this.#finish('ok')
    // The slow path: the first reply, and one received in parts.
    this.#parts.push(chunk)
    this.#partsBytes += chunk.length
    if (this.#partsBytes < this.#replyBytes) return
    const all = Buffer.concat(this.#parts)
    const headEnd = all.indexOf(HEAD_END)
    if (headEnd < 0) return
    this.#headBytes = headEnd + HEAD_END.length
    const length = LENGTH.exec(all.toString('latin1', 0, headEnd))?.[1]
    if (length === undefined || !startsWell(all)) return this.#finish('wrong')
    this.#replyBytes = this.#headBytes + Number(length)
    if (all.length < this.#replyBytes) return
    this.#finish(this.#isReply(all, this.#headBytes) ? 'ok' : 'wrong')
  }

  /**
   * True where `bytes` are a complete 200 reply with a head of this length and the expected body.
   */
  #isReply(bytes: Buffer, headBytes: number): boolean {
    const wire = this.#wire
    return (
      headBytes > 0 &&
      wire?.reply.length === bytes.length - headBytes &&
      startsWell(bytes) &&
      HEAD_END.compare(bytes, headBytes - HEAD_END.length, headBytes) === 0 &&
      isRight(wire, bytes.subarray(headBytes))
    )
  }

  #finish(outcome: Outcome): void {
    if (outcome === 'wrong')
      this.wrongReply = Buffer.concat(this.#parts).toString('latin1', 0, SHOWN_BYTES)
    this.#wire = undefined
    if (this.#parts.length > 0) this.#parts = []
    this.#partsBytes = 0
    this.#replyBytes = 0
    this.#onReply(this, outcome)
  }
}

/** Whether a body, or a frame, of the right length is the right one. */
export const isRight = ({ reply, fixed }: Wire, body: Buffer): boolean =>
  fixed === undefined
    ? reply.equals(body)
    : fixed.every(({ from, to }) => reply.compare(body, from, to, from, to) === 0)

const startsWell = (bytes: Buffer): boolean => STATUS.compare(bytes, 0, STATUS.length) === 0
