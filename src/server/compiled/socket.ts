import type { Sendable, SocketBehavior, WebSocket } from '../library.js'
import type { Functions, Handle } from './functions.js'

/** A WebSocket of the compiled server, with the handlers of its route. */
export class CompiledSocket<Data> implements WebSocket<Data> {
  readonly behavior: SocketBehavior<Data>
  private readonly functions: Functions
  private readonly handle: Handle
  private readonly data: Data

  constructor(
    functions: Functions,
    handle: Handle,
    { behavior, data }: { readonly behavior: SocketBehavior<Data>; readonly data: Data },
  ) {
    this.functions = functions
    this.handle = handle
    this.behavior = behavior
    this.data = data
  }

  getUserData(): Data {
    return this.data
  }

  send(frame: Sendable, isBinary = false, isCompressed = false): number {
    return this.functions.sendFrame(this.handle, frame, isBinary, isCompressed)
  }

  beginFrame(byteLength: number, isBinary = false): void {
    this.functions.beginFrame(this.handle, byteLength, isBinary)
  }

  writeFrame(piece: Uint8Array): number {
    return this.functions.writeFrame(this.handle, piece)
  }

  setToken(token: string, messageBytesMax: number): void {
    this.functions.setSocketToken(this.handle, token, messageBytesMax)
  }

  end(code = 0, reason: Sendable = ''): void {
    this.functions.endSocket(this.handle, code, reason)
  }

  close(): void {
    this.functions.closeSocket(this.handle)
  }

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

  isSubscribed(topic: string): boolean {
    return this.functions.isSubscribed(this.handle, topic)
  }

  getTopics(): string[] {
    return this.functions.getTopics(this.handle)
  }
}
