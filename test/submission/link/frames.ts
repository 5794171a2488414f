import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { FrameReader, toFrame } from '../../../src/submission/link/frames.js'
import { latencyMax } from '../../fixtures/soak.js'

const BYTES_MAX = 1_000

/** The messages that a reader finds in these chunks. */
const read = (chunks: readonly Buffer[], bytesMax = BYTES_MAX): unknown[] => {
  const found: unknown[] = []
  const reader = new FrameReader(bytesMax, message => found.push(message))
  for (const chunk of chunks) reader.push(chunk)
  return found
}

/** The same bytes in chunks of any lengths. */
const cut = (bytes: Buffer, lengths: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = []
  let at = 0
  for (let nth = 0; at < bytes.length; nth++) {
    const length = Math.max(1, lengths[nth % lengths.length] ?? 1)
    chunks.push(bytes.subarray(at, at + length))
    at += length
  }
  return chunks
}

const anyMessage = fc.record(
  {
    kind: fc.string(),
    call: fc.nat(),
    text: fc.string(),
    body: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
    none: fc.constant(undefined),
    version: fc.oneof(
      fc.double().map(one => one + 0),
      fc.constant(Number.NaN),
    ),
  },
  { noNullPrototype: true },
)

t.test('messages arrive as they were sent, however the stream is cut', t => {
  fc.assert(
    fc.property(
      fc.array(anyMessage, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 }),
      (messages, lengths) => {
        const found = read(cut(Buffer.concat(messages.map(toFrame)), lengths), 2_000)
        return isDeepStrictEqual(found, messages)
      },
    ),
  )
  t.end()
})

t.test('what is no message ends the stream, and is not kept', t => {
  const head = (length: number): Buffer => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(length)
    return bytes
  }
  const cases: [name: string, bytes: Buffer][] = [
    ['nothing', head(0)],
    ['too long', head(BYTES_MAX + 1)],
    ['far too long', head(0xffff_ffff)],
    ['no msgpack', Buffer.concat([head(1), Buffer.from([0xc1])])],
    ['half of a value', Buffer.concat([head(2), Buffer.from([0xd9, 9])])],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ]
  for (const [name, bytes] of cases) t.throws(() => read([bytes]), name)
  t.strictSame(read([head(BYTES_MAX), Buffer.alloc(BYTES_MAX - 1)]), [], 'half of a message')
  t.end()
})

t.test('no bytes at all are taken for a message that has no kind', t => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 600 }), { maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 5 }),
      (bodies, lengths) => {
        const frames = bodies.map(body => {
          const head = Buffer.alloc(4)
          head.writeUInt32LE(body.length)
          return Buffer.concat([head, body])
        })
        const found: unknown[] = []
        const reader = new FrameReader(BYTES_MAX, message => found.push(message))
        try {
          for (const chunk of cut(Buffer.concat(frames), lengths)) reader.push(chunk)
        } catch (error) {
          if (!(error instanceof Error)) return false
        }
        return found.every(one => typeof (one as { kind?: unknown }).kind === 'string')
      },
    ),
  )
  t.end()
})

t.test('the length of a message that does not come takes no memory', t => {
  const bytesMax = 64 * 1024 ** 2
  const { arrayBuffers } = process.memoryUsage()
  const readers = Array.from({ length: 100 }, () => {
    const reader = new FrameReader(bytesMax, () => t.fail('no message has come'))
    const head = Buffer.alloc(4)
    head.writeUInt32LE(bytesMax)
    reader.push(head)
    reader.push(Buffer.alloc(1_000))
    return reader
  })
  t.ok(process.memoryUsage().arrayBuffers - arrayBuffers < bytesMax)
  t.equal(readers.length, 100)
  t.end()
})

t.test('a message of 8 MiB in small chunks costs one copy', t => {
  const body = Buffer.alloc(8 * 1024 ** 2, 7)
  const frame = toFrame({ kind: '', body })
  const startMs = performance.now()
  const [found] = read(cut(frame, [1_000]), 9 * 1024 ** 2)
  const { body: got } = found as { body: Buffer }
  t.ok(body.equals(got))
  // Copied with each of 8,000 chunks it would be 30 GB.
  t.ok(performance.now() - startMs < latencyMax(2_000))
  t.end()
})
