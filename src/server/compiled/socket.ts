import type { ExceededBound, Functions, Handle, Sendable } from './functions.js'

/** What happens to one WebSocket. */
export type SocketHandlers = {
  onOpen(ws: WebSocket): void
  /** The message is valid until the handler returns. */
  onMessage(message: Uint8Array, isBinary: boolean): void
  onDrain(): void
  /** The client does not take what is sent to it. */
  onExceeded(bound: ExceededBound): void
  /** Pings, pongs and small fragments, which are no message. */
  onIdleFrames(count: number): void
  onClose(code: number): void
}

/** One WebSocket. Every call throws after it was closed. */
export class WebSocket {
  private readonly functions: Functions
  private readonly handle: Handle

  constructor(functions: Functions, handle: Handle) {
    this.functions = functions
    this.handle = handle
  }

  send(frame: Sendable, isBinary = false, isCompressed = false): void {
    this.functions.sendFrame(this.handle, frame, isBinary, isCompressed)
  }

  /**
   * Begins a frame. Its payload is written by `writeFrame`, which returns how many bytes the client
   * took; `drain` is called once it can take more. Other frames wait until this one ends.
   */
  beginFrame(byteLength: number, isBinary = false): void {
    this.functions.beginFrame(this.handle, byteLength, isBinary)
  }

  cancelFrame(): void {
    this.functions.cancelFrame(this.handle)
  }

  writeFrame(piece: Uint8Array): number {
    return this.functions.writeFrame(this.handle, piece)
  }

  /**
   * Has canonical point reads of this token answered before JavaScript, in messages up to a size;
   * an empty token ends it.
   */
  setToken(token: string, messageBytesMax: number): void {
    this.functions.setSocketToken(this.handle, token, messageBytesMax)
  }

  end(code = 0, reason: Sendable = ''): void {
    this.functions.endSocket(this.handle, code, reason)
  }

  close(): void {
    this.functions.closeSocket(this.handle)
  }

  /**
   * Messages are not read until `resume`; of one that is read now a few more may follow. `resume`
   * closes a socket whose client has left.
   */
  pause(): void {
    this.functions.pauseSocket(this.handle)
  }

  resume(): void {
    this.functions.resumeSocket(this.handle)
  }

  getBufferedAmount(): number {
    return this.functions.getBufferedAmount(this.handle)
  }

  subscribe(topic: string): boolean {
    return this.functions.subscribe(this.handle, topic)
  }

  unsubscribe(topic: string): boolean {
    return this.functions.unsubscribe(this.handle, topic)
  }
}
