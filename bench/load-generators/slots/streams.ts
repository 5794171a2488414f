// Subscribers over gRPC: frames of HTTP/2 are read as they come, because a client of Node's own
// costs more for a message than the server.
import net from 'node:net'
import bs58 from 'bs58'
import { decodeFields } from '../../../src/sandbox/geyser/protobuf.js'
import { encodeFrameHeader } from '../../../src/sandbox/geyser/grpc-message.js'
import { yellowstone } from '../../../test/fixtures/sandbox/yellowstone.js'
import { machineMs } from '../../clock.js'
import { onStart } from '../../child.js'
import { watchedKey } from '../../data/slot-messages.js'
import { Samples } from './samples.js'

export type SlotStreams = {
  readonly port: number
  readonly token: string
  readonly count: number
  readonly file: string
}

/** Updates of a stream, by the number of their field. */
export const STREAM_KINDS = ['account', 'slot'] as const
const KIND_OF_FIELD = new Map([
  [2, 0],
  [3, 1],
])
/** Of an account its slot is the second field, of a slot the first. */
const SLOT_FIELDS = [2, 1]

/** The service takes 128 calls of a connection. */
const STREAMS_PER_CONNECTION = 100
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, window: 8 } as const
const [ACK, END_STREAM, END_HEADERS] = [1, 1, 4]
const HEAD_BYTES = 9
const WINDOW_MAX = 2 ** 31 - 1
const WINDOW_DEFAULT = 65_535
const GRPC_HEAD_BYTES = 5

const { SubscribeRequest } = yellowstone

const frame = (type: number, flags: number, stream: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUIntBE(body.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, body])
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A text of HPACK without Huffman's code. */
const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  const length = bytes.length < 127 ? [bytes.length] : [127, bytes.length - 127]
  return Buffer.concat([Buffer.from(length), bytes])
}

const headersOf = (token: string): Buffer =>
  Buffer.concat(
    Object.entries({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': '/geyser.Geyser/Subscribe',
      ':authority': '127.0.0.1',
      te: 'trailers',
      'content-type': 'application/grpc',
      'x-token': token,
      // Literal, and not indexed.
    }).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  )

const requestOf = (index: number): Buffer => {
  const request = SubscribeRequest.fromPartial({
    accounts: { a: { account: [bs58.encode(watchedKey(index))] } },
    slots: { s: { filterByCommitment: true } },
    commitment: 1,
  })
  const bytes = Buffer.from(SubscribeRequest.encode(request).finish())
  return Buffer.concat([encodeFrameHeader(bytes.length), bytes])
}

const HELLO = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  // The window of each stream, then that of the connection.
  frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(WINDOW_MAX)])),
  frame(FRAME.window, 0, 0, uint32(WINDOW_MAX - WINDOW_DEFAULT)),
])

type Take = (message: Buffer, ms: number) => void

/** Opens streams on one connection; resolves when each is answered. */
const openConnection = (port: number, token: string, indexes: readonly number[], take: Take) =>
  new Promise<void>((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    const waiting = new Set(indexes.map((_, at) => 1 + 2 * at))
    /** Of messages that have not come entirely, by stream. */
    const begun = new Map<number, Buffer>()
    const onData = (stream: number, bytes: Buffer, ms: number): void => {
      const before = begun.get(stream)
      let all = before === undefined ? bytes : Buffer.concat([before, bytes])
      while (all.length >= GRPC_HEAD_BYTES) {
        const end = GRPC_HEAD_BYTES + all.readUInt32BE(1)
        if (all.length < end) break
        take(all.subarray(GRPC_HEAD_BYTES, end), ms)
        all = all.subarray(end)
      }
      if (all.length === 0) begun.delete(stream)
      else begun.set(stream, Buffer.from(all))
    }
    const onFrame = (type: number, flags: number, stream: number, body: Buffer, ms: number) => {
      if (type === FRAME.data) onData(stream, body, ms)
      else if (type === FRAME.headers && (flags & END_STREAM) === 0) {
        if (waiting.delete(stream) && waiting.size === 0) resolve()
      } else if (type === FRAME.settings && (flags & ACK) === 0)
        socket.write(frame(FRAME.settings, ACK, 0, Buffer.alloc(0)))
      else if (type === FRAME.ping && (flags & ACK) === 0)
        socket.write(frame(FRAME.ping, ACK, 0, body))
      else if ([FRAME.reset, FRAME.goAway, FRAME.headers].some(one => one === type))
        socket.destroy(new Error(`a stream has ended with ${body.toString('latin1')}`))
    }
    let unread: Buffer = Buffer.alloc(0)
    socket.on('data', chunk => {
      const ms = machineMs()
      const all = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])
      let at = 0
      while (all.length >= at + HEAD_BYTES) {
        const end = at + HEAD_BYTES + all.readUIntBE(at, 3)
        if (all.length < end) break
        const stream = all.readUInt32BE(at + 5) & WINDOW_MAX
        onFrame(all[at + 3] ?? 0, all[at + 4] ?? 0, stream, all.subarray(at + HEAD_BYTES, end), ms)
        at = end
      }
      unread = Buffer.from(all.subarray(at))
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('a connection has ended')))
    const headers = headersOf(token)
    socket.write(
      Buffer.concat([
        HELLO,
        ...indexes.flatMap((index, at) => [
          frame(FRAME.headers, END_HEADERS, 1 + 2 * at, headers),
          frame(FRAME.data, 0, 1 + 2 * at, requestOf(index)),
        ]),
      ]),
    )
  })

onStart<SlotStreams, null>(async ({ port, token, count, file }) => {
  const samples = new Samples(file)
  const take: Take = (message, ms) => {
    for (const { bytes, number } of decodeFields(message)) {
      const kind = KIND_OF_FIELD.get(number)
      if (kind === undefined) continue
      const slot = decodeFields(bytes).find(field => field.number === SLOT_FIELDS[kind])
      samples.add(kind, Number(slot?.varint), ms)
    }
  }
  const indexes = Array.from({ length: count }, (_, index) => index)
  for (let first = 0; first < count; first += STREAMS_PER_CONNECTION)
    await openConnection(port, token, indexes.slice(first, first + STREAMS_PER_CONNECTION), take)
  return null
})
