import type { Functions, Handle, Sendable } from './functions.js'
import type { SocketHandlers } from './socket.js'

/** Names the route of a handshake; passed to `upgrade` unchanged. */
export type SocketContext = number

/** Has the WebSocket that opens during a call get its handlers. */
export type OpenSocket = (handlers: SocketHandlers, upgrade: () => void) => void

const TAKEN = 1
const DONE = 2

/**
 * One response, with the handlers that its events are given to. Every call throws after it was
 * answered or aborted.
 */
export class HttpResponse {
  dataHandler: ((chunk: Uint8Array, isLast: boolean) => void) | undefined
  abortHandler: (() => void) | undefined
  writableHandler: ((offset: number) => boolean) | undefined
  private readonly functions: Functions
  private readonly handle: Handle
  private readonly openSocket: OpenSocket

  constructor(functions: Functions, handle: Handle, openSocket: OpenSocket) {
    this.functions = functions
    this.handle = handle
    this.openSocket = openSocket
  }

  /**
   * The request was authenticated: its connection is not closed for others. Returns whether it is
   * the first one of its connection since another token came.
   */
  setAuthenticated(): boolean {
    return this.functions.setAuthenticated(this.handle)
  }

  writeStatus(status: string): void {
    this.functions.writeStatus(this.handle, status)
  }

  writeHeader(name: string, value: string): void {
    this.functions.writeHeader(this.handle, name, value)
  }

  /** The connection ends after this response, whose head is not written yet and will state it. */
  closeAfter(): void {
    this.functions.closeAfter(this.handle)
  }

  end(body?: Sendable, closeConnection = false): void {
    this.functions.end(this.handle, body, closeConnection)
  }

  endWithoutBody(): void {
    this.functions.endWithoutBody(this.handle)
  }

  /** Returns whether the client took everything, and whether the response is whole. */
  tryEnd(body: Sendable, totalBytes: number): [boolean, boolean] {
    const result = this.functions.tryEnd(this.handle, body, totalBytes)
    return [(result & TAKEN) !== 0, (result & DONE) !== 0]
  }

  /** Returns whether the client took everything. */
  write(chunk: Sendable): boolean {
    return this.functions.write(this.handle, chunk)
  }

  cork(write: () => void): void {
    this.functions.cork(this.handle, write)
  }

  /** Closes the connection. */
  close(): void {
    this.functions.close(this.handle)
  }

  getWriteOffset(): number {
    return this.functions.getWriteOffset(this.handle)
  }

  getRemoteAddress(): ArrayBuffer {
    return this.functions.getRemoteAddress(this.handle)
  }

  onAborted(handle: () => void): void {
    this.abortHandler = handle
  }

  onData(handle: (chunk: Uint8Array, isLast: boolean) => void): void {
    this.dataHandler = handle
    this.functions.readBody(this.handle)
  }

  onWritable(handle: (offset: number) => boolean): void {
    this.writableHandler = handle
    this.functions.watchWritable(this.handle)
  }

  upgrade(
    handlers: SocketHandlers,
    key: string,
    protocol: string,
    extensions: string,
    context: SocketContext,
  ): void {
    const { functions, handle } = this
    this.openSocket(handlers, () => functions.upgrade(handle, key, protocol, extensions, context))
  }
}
