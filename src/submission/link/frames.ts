import { Packr } from 'msgpackr'
import { isMap } from '../../shared/values.js'

/**
 * Messages over a stream of bytes between two processes of one build: the length of each in 4
 * bytes, then msgpack.
 */
const LENGTH_BYTES = 4

const packr = new Packr({ useRecords: false })

/** A message with its length. */
export const toFrame = (message: object): Buffer => {
  const packed = packr.pack(message)
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + packed.byteLength)
  frame.writeUInt32LE(packed.byteLength)
  frame.set(packed, LENGTH_BYTES)
  return frame
}

/** Takes a stream apart into its messages. */
export class FrameReader {
  private readonly bytesMax: number
  private readonly onMessage: (message: unknown) => void
  private chunks: Buffer[] = []
  /** Bytes of the chunks, and those that the next step needs. */
  private byteLength = 0
  private wanted = LENGTH_BYTES
  private isInBody = false

  constructor(bytesMax: number, onMessage: (message: unknown) => void) {
    this.bytesMax = bytesMax
    this.onMessage = onMessage
  }

  /** Throws for what is no frame: then the stream is of no use any more. */
  push(chunk: Buffer): void {
    this.chunks.push(chunk)
    this.byteLength += chunk.byteLength
    while (this.byteLength >= this.wanted) this.step()
  }

  private step(): void {
    const bytes = this.take(this.wanted)
    if (this.isInBody) {
      this.isInBody = false
      this.wanted = LENGTH_BYTES
      const message: unknown = packr.unpack(bytes)
      if (!isMap(message) || typeof message['kind'] !== 'string')
        throw new Error('a message is no map with a kind')
      this.onMessage(message)
      return
    }
    const length = bytes.readUInt32LE()
    if (length === 0 || length > this.bytesMax)
      throw new Error(`a message of ${length} bytes, of ${this.bytesMax} at most`)
    this.isInBody = true
    this.wanted = length
  }

  /** The next bytes; each is copied once at most, however many chunks a message has. */
  private take(count: number): Buffer {
    const [first] = this.chunks
    const isWhole = first !== undefined && first.byteLength >= count
    const bytes = isWhole ? first : Buffer.concat(this.chunks)
    const rest = bytes.subarray(count)
    if (isWhole) this.chunks.shift()
    else this.chunks = []
    if (rest.byteLength > 0) this.chunks.unshift(rest)
    this.byteLength -= count
    return bytes.subarray(0, count)
  }
}
