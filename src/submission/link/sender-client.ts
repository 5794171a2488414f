import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamFailure } from '../../upstream/errors.js'
import type { Submission } from '../store/submission.js'
import { FrameReader, toFrame } from './frames.js'
import type { Answers, CallKind, Calls, LanderKnowledge, ToEdge, ToSender } from './messages.js'

/** Pause between two attempts to connect. */
const RECONNECT_MS = 20
/** Unsent bytes above which nothing more is recorded. */
const RECORDS_BYTES_MAX = 4 * 1024 ** 2

export type SenderClientOptions = {
  /** Where the sender listens. */
  readonly path: string
  /** Longest wait of a call for a sender. */
  readonly waitMs: number
  /** Calls that wait for an answer at once, and the bytes of their messages. */
  readonly callsMax: number
  readonly bytesMax: number
  /** Longest message of the sender, in bytes. */
  readonly answerBytesMax: number
  /** There are new events of these accesses, or there may be of all: the sender is another one. */
  readonly onTold: (accessIds?: readonly string[]) => void
  /** Called with what no sender would send. */
  readonly onFault: (fault: unknown) => void
}

/** What a call may need beside its answer. */
export type CallHooks = {
  /**
   * Called once, when the call is written. What it then hands over follows the call, whenever that
   * is, and must come.
   */
  readonly onWritten?: (addKnowledge: (known: LanderKnowledge) => void) => void
  /** The sender writes it to the lander. */
  readonly onSent?: () => void
  /** Whether the access of the call has ended. */
  readonly isEnded?: () => boolean
}

type Waiting = {
  readonly call: number
  readonly frame: Buffer
  readonly isEnded: CallHooks['isEnded']
  readonly onSent: CallHooks['onSent']
  readonly isFollowed: boolean
  readonly resolve: (answer: unknown) => void
  readonly reject: (failure: UpstreamFailure) => void
  onWritten: CallHooks['onWritten']
  timer: NodeJS.Timeout | undefined
  connection: Connection | undefined
  /** What followed the call. */
  knowledge: Buffer | undefined
}

/** One connection to a sender. */
type Connection = {
  readonly socket: Socket
  /** Calls without an answer. */
  readonly pending: Map<number, Waiting>
  /** Calls that something follows. */
  readonly followed: Set<Waiting>
  /** Called when nothing follows any more. */
  onFollowed: () => void
}

/**
 * An edge's connection to the sender of its machine. A call rejects with an UpstreamFailure:
 * `unreachable` where there is no sender in time and nothing was written, `full` where too many
 * calls are in flight, and `no-response` where the sender has ended with the call.
 */
export class SenderClient {
  private readonly options: SenderClientOptions
  private current: Connection | undefined
  private connecting: Socket | undefined
  private reconnect: NodeJS.Timeout | undefined
  /** Calls that are not written yet, in order. */
  private readonly waiting = new Set<Waiting>()
  private readonly leaving = new Set<Connection>()
  /** Records for the next sender, and their bytes. */
  private records: Buffer[] = []
  private recordsBytes = 0
  private nextCall = 1
  private count = 0
  private byteLength = 0
  private isClosed = false

  constructor(options: SenderClientOptions) {
    this.options = options
    this.open()
  }

  call<K extends CallKind>(kind: K, of: Calls[K], hooks: CallHooks = {}): Promise<Answers[K]> {
    const { bytesMax, callsMax } = this.options
    const call = this.nextCall++
    const frame = toFrame({ kind, call, of })
    const isFull = this.count >= callsMax || this.byteLength + frame.byteLength > bytesMax
    if (isFull) return Promise.reject(new UpstreamFailure('full', 'calls to the sender'))
    this.count++
    this.byteLength += frame.byteLength
    return new Promise<Answers[K]>((resolve, reject) => {
      this.place({
        call,
        frame,
        isEnded: hooks.isEnded,
        onSent: hooks.onSent,
        isFollowed: hooks.onWritten !== undefined,
        onWritten: hooks.onWritten,
        resolve: resolve as (answer: unknown) => void,
        reject,
        timer: undefined,
        connection: undefined,
        knowledge: undefined,
      })
    }).finally(() => {
      this.count--
      this.byteLength -= frame.byteLength
    })
  }

  /** Has a submission recorded that the sender does not know. Too many at once are lost. */
  record(id: Uint8Array, submission: Submission): void {
    const frame = toFrame({ kind: 'record', id, submission } satisfies ToSender)
    const socket = this.current?.socket
    if (socket !== undefined) {
      if (socket.writableLength < RECORDS_BYTES_MAX) socket.write(frame)
    } else if (this.recordsBytes < RECORDS_BYTES_MAX) {
      this.records.push(frame)
      this.recordsBytes += frame.byteLength
    }
  }

  /** Ends every call that is in flight, once what follows it is sent. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.reconnect)
    this.connecting?.destroy()
    for (const call of this.waiting) this.giveUp(call)
    const { current, leaving } = this
    const open = current === undefined ? [...leaving] : [...leaving, current]
    await Promise.all(open.map(connection => this.end(connection)))
  }

  private async end(connection: Connection): Promise<void> {
    const { followed, socket } = connection
    if (followed.size > 0) {
      const isFollowed = new Promise<void>(resolve => {
        connection.onFollowed = resolve
      })
      await Promise.race([isFollowed, sleep(this.options.waitMs, undefined, { ref: false })])
    }
    socket.destroySoon()
  }

  private place(call: Waiting): void {
    if (this.current !== undefined) return this.write(this.current, call)
    call.timer = setTimeout(() => this.giveUp(call), this.options.waitMs)
    this.waiting.add(call)
  }

  private giveUp(call: Waiting): void {
    this.waiting.delete(call)
    clearTimeout(call.timer)
    call.reject(new UpstreamFailure('unreachable', 'no sender'))
  }

  private write(connection: Connection, call: Waiting): void {
    const { isFollowed, onWritten } = call
    const { followed, pending, socket } = connection
    clearTimeout(call.timer)
    call.connection = connection
    pending.set(call.call, call)
    socket.write(call.frame)
    if (call.knowledge !== undefined) socket.write(call.knowledge)
    else if (isFollowed) followed.add(call)
    // It may be written again, to another sender.
    call.onWritten = undefined
    onWritten?.(known => this.addKnowledge(call, known))
  }

  private addKnowledge(waiting: Waiting, known: LanderKnowledge): void {
    const { call, connection } = waiting
    waiting.knowledge = toFrame({ kind: 'checked', call, known } satisfies ToSender)
    connection?.socket.write(waiting.knowledge)
    connection?.followed.delete(waiting)
    if (connection !== undefined) this.endIfDone(connection)
    if (connection?.followed.size === 0) connection.onFollowed()
  }

  private open(): void {
    if (this.isClosed || this.connecting !== undefined) return
    const socket = connect(this.options.path)
    this.connecting = socket
    const connection: Connection = {
      socket,
      pending: new Map(),
      followed: new Set(),
      onFollowed() {},
    }
    const reader = new FrameReader(this.options.answerBytesMax, message =>
      this.onMessage(connection, message as ToEdge),
    )
    socket.on('data', chunk => {
      try {
        reader.push(chunk)
      } catch (fault) {
        this.options.onFault(fault)
        socket.destroy()
      }
    })
    // `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => this.onClose(connection))
  }

  /** Until then, what is written might go to a process that is ending. */
  private onOpen(connection: Connection): void {
    const { socket } = connection
    if (this.connecting !== socket) return
    this.connecting = undefined
    this.current = connection
    this.options.onTold()
    for (const frame of this.records) socket.write(frame)
    this.records = []
    this.recordsBytes = 0
    for (const call of this.waiting) {
      this.waiting.delete(call)
      this.write(connection, call)
    }
  }

  private onClose(connection: Connection): void {
    const { pending, socket } = connection
    if (this.connecting === socket) this.connecting = undefined
    if (this.current === connection) this.current = undefined
    this.leaving.delete(connection)
    connection.onFollowed()
    for (const { reject } of pending.values())
      reject(new UpstreamFailure('no-response', 'the sender has ended'))
    pending.clear()
    if (this.isClosed || this.current !== undefined) return
    clearTimeout(this.reconnect)
    this.reconnect = setTimeout(() => this.open(), RECONNECT_MS)
  }

  private onMessage(connection: Connection, message: ToEdge): void {
    const { pending, socket } = connection
    if (message.kind === 'open') return this.onOpen(connection)
    if (message.kind === 'moved') return this.onMoved(connection, message.call)
    if (message.kind === 'told') return this.options.onTold(message.accessIds)
    const waiting = pending.get(message.call)
    if (waiting === undefined) return
    if (message.kind === 'sent') return waiting.onSent?.()
    if (message.kind === 'recheck') {
      const isEnded = waiting.isEnded?.() ?? false
      socket.write(toFrame({ kind: 'rechecked', call: message.call, isEnded } satisfies ToSender))
      return
    }
    pending.delete(message.call)
    if (message.kind === 'answer') waiting.resolve(message.answer)
    else waiting.reject(new UpstreamFailure('no-response', 'the sender failed'))
    this.endIfDone(connection)
  }

  /** The other sender listens already. What this one has begun, it ends. */
  private onMoved(connection: Connection, call: number | undefined): void {
    if (this.current === connection) {
      this.current = undefined
      this.leaving.add(connection)
      this.open()
    }
    const declined = call === undefined ? undefined : connection.pending.get(call)
    if (declined !== undefined) {
      connection.pending.delete(declined.call)
      connection.followed.delete(declined)
      declined.connection = undefined
      this.place(declined)
    }
    this.endIfDone(connection)
  }

  private endIfDone(connection: Connection): void {
    const { followed, pending, socket } = connection
    if (this.leaving.has(connection) && pending.size + followed.size === 0) socket.end()
  }
}
