import type { OnReadOpts, Socket } from 'node:net'

/**
 * What the system gives at once. All sockets share it: what was read is copied before the next
 * read.
 */
const shared = Buffer.allocUnsafeSlow(65_536)

type Part = string | Uint8Array

/**
 * Sees what has come before the reader does. Where that has time it answers true: the reader gets
 * the bytes when `readOn` is called, or with those that follow, or in the next turn of the loop.
 */
export type LookAhead = (bytes: Buffer, readOn: () => void) => boolean

/**
 * Takes bytes between the system and who reads a socket by `readable` and `read`, as undici does,
 * without Node's streams. `onread` is for `connect` of `node:net` or `node:tls`; `attach`
 * for the socket that it returns, at once.
 */
export const createShortWay = (
  lookAhead: LookAhead = () => false,
): {
  readonly onread: OnReadOpts
  attach(socket: Socket): void
} => {
  /** Read by nobody yet: more than one only where a reader pauses, or has time. */
  const arrived: Buffer[] = []
  let isStopped = false
  let tellReadable = (): void => {}
  const readOn = (): void => {
    if (arrived.length > 0) tellReadable()
  }

  const callback = (byteLength: number): boolean => {
    const own = Buffer.allocUnsafe(byteLength)
    shared.copy(own, 0, 0, byteLength)
    const hasTime = arrived.length === 0 && lookAhead(own, readOn)
    arrived.push(own)
    if (hasTime) {
      setImmediate(readOn)
      return true
    }
    tellReadable()
    // Where nobody took it, the system keeps what follows until somebody does.
    isStopped = arrived.length > 0
    return !isStopped
  }

  const attach = (socket: Socket): void => {
    const ofNode = {
      read: socket.read.bind(socket),
      write: socket.write.bind(socket) as (part: Part, encoding?: BufferEncoding) => boolean,
    }
    tellReadable = () => void socket.emit('readable')
    const read = (byteLength?: number): Buffer | null => {
      // Node's own way to begin reading, and to tell the end.
      if (byteLength === 0) return ofNode.read(0)
      const chunk = arrived.shift() ?? null
      if (isStopped && arrived.length === 0) {
        isStopped = false
        ofNode.read(0)
      }
      return chunk
    }

    /** What is written while corked: the head of a request and its body, which go as one. */
    let corked: Uint8Array[] | undefined
    const cork = (): void => {
      corked ??= []
    }
    const write = (part: Part, encoding?: BufferEncoding): boolean => {
      if (corked === undefined) return ofNode.write(part, encoding)
      corked.push(typeof part === 'string' ? Buffer.from(part, encoding) : part)
      return true
    }
    const uncork = (): void => {
      const parts = corked ?? []
      corked = undefined
      if (parts.length > 0) ofNode.write(Buffer.concat(parts))
    }
    Object.assign(socket, { read, cork, write, uncork })
  }

  return { onread: { buffer: shared, callback }, attach }
}
