import t from 'tap'
import { parseFrame } from '../../../src/submission/lanes/quic-frame.js'

/** A frame, of which a test changes what it says. */
const frame = (
  status: number,
  text: string | Buffer,
  length = Buffer.from(text).length,
): Buffer => {
  const head = Buffer.from([1, 0, status >> 8, status & 0xff, length >> 8, length & 0xff])
  return Buffer.concat([head, Buffer.from(text)])
}

t.test('a frame is read as Lunar Lander writes it', t => {
  const example = Buffer.concat([
    Buffer.from('010001ad0013', 'hex'),
    Buffer.from('rate limit exceeded'),
  ])
  t.strictSame(parseFrame(example), { status: 429, text: 'rate limit exceeded' })
  t.strictSame(parseFrame(frame(200, '')), { status: 200, text: '' })
  t.strictSame(parseFrame(frame(65_535, 'é'.repeat(512))), {
    status: 65_535,
    text: 'é'.repeat(512),
  })
  // A part of a larger memory.
  const within = Buffer.concat([Buffer.alloc(3, 9), frame(400, 'tip required'), Buffer.alloc(3, 9)])
  t.match(parseFrame(within.subarray(3, -3)), { status: 400, text: 'tip required' })
  t.end()
})

t.test('what is no frame is refused', t => {
  const wrong: [bytes: Buffer, why: RegExp][] = [
    [Buffer.alloc(0), /too short/],
    [frame(200, '').subarray(0, 5), /too short/],
    [Buffer.concat([Buffer.of(2), frame(200, '').subarray(1)]), /version 2/],
    [Buffer.concat([Buffer.of(1, 4), frame(200, '').subarray(2)]), /flags 4/],
    [frame(200, 'ok', 3), /2 bytes of text, where it says 3/],
    [frame(200, 'ok', 1), /2 bytes of text, where it says 1/],
    [frame(200, 'x'.repeat(1_025)), /1025 bytes of text/],
    [frame(200, Buffer.of(0xff, 0xfe)), /no UTF-8/],
    [Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), /version 72/],
  ]
  for (const [bytes, why] of wrong) t.match(parseFrame(bytes), why)
  t.end()
})
