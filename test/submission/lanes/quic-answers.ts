import t from 'tap'
import {
  FALCON_ANSWERS,
  LUNAR_LANDER_ANSWERS,
  NODE1_ANSWERS,
  parseFrame,
  type QuicAnswers,
} from '../../../src/submission/lanes/quic-answers.js'

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

const SIGNATURE = 'A'.repeat(88)
const TRANSACTION = { bytes: Buffer.alloc(0), signature: SIGNATURE }

const node1 = (status: number, text: string): Buffer => {
  const head = Buffer.alloc(6)
  head.writeUInt16BE(status)
  head.writeUInt32BE(text.length, 2)
  return Buffer.concat([head, Buffer.from(text)])
}

t.test('an answer accepts, refuses, or leaves the outcome unknown', t => {
  const other = 'B'.repeat(88)
  const rows: [answers: QuicAnswers, answer: Buffer, read: object][] = []
  for (const [answers, write] of [
    [LUNAR_LANDER_ANSWERS, frame],
    [NODE1_ANSWERS, node1],
  ] as const)
    rows.push(
      [answers, write(200, SIGNATURE), { outcome: 'accepted', hasSignature: true, status: 200 }],
      [answers, write(200, ''), { outcome: 'accepted', hasSignature: false }],
      [answers, write(200, 'ok'), { outcome: 'accepted', hasSignature: false, words: 'ok' }],
      [answers, write(200, other), { outcome: 'unknown', status: 200 }],
      [answers, write(400, 'tip required'), { outcome: 'refused', words: 'tip required' }],
      [answers, write(401, 'unknown key'), { outcome: 'refused', status: 401 }],
      [answers, write(419, 'slow down'), { outcome: 'full', status: 419 }],
      [answers, write(429, ''), { outcome: 'full', status: 429 }],
      [answers, write(503, ''), { outcome: 'full', status: 503 }],
      [answers, write(500, 'ok'), { outcome: 'unknown', status: 500 }],
    )
  const falcon: [code: number, read: object][] = [
    [0, { outcome: 'accepted', hasSignature: false, status: 0 }],
    [1, { outcome: 'full', status: 1, words: 'rate limit' }],
    [3, { outcome: 'refused', status: 3, words: 'missing tip' }],
    [6, { outcome: 'refused', status: 6, words: 'not forwarded' }],
    [8, { outcome: 'unknown', status: null, words: /code 8/ }],
    [255, { outcome: 'unknown', status: null }],
  ]
  for (const [code, read] of falcon) rows.push([FALCON_ANSWERS, Buffer.of(9, code), read])
  rows.push([NODE1_ANSWERS, node1(200, '').fill(0xff, 6), { outcome: 'accepted' }])
  rows.push([
    NODE1_ANSWERS,
    Buffer.concat([node1(200, ''), Buffer.of(0xff)]),
    { outcome: 'unknown', status: null },
  ])
  for (const [answers, answer, read] of rows)
    t.match(answers.read(answer, TRANSACTION), read, answer.toString('latin1'))
  t.end()
})
