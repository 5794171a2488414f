import fc from 'fast-check'
import t from 'tap'
import { BodyBuffer } from '../../../src/server/http/body-buffer.js'
import { exchange, openTestServer, post, text } from '../../fixtures/server/server.js'

t.test('chunks are joined, and memory follows the received bytes', t => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 300 }),
      fc.option(fc.integer({ min: 0, max: 1_000_000 }), { nil: undefined }),
      (chunks, stepBytesMax, claimedBytes) => {
        const body = new BodyBuffer(claimedBytes, stepBytesMax)
        for (const chunk of chunks) {
          const capacity = body.capacityWith(chunk.byteLength)
          body.append(chunk)
          if (body.capacity !== capacity) return false
          if (body.capacity > Math.max(body.byteLength, 0) + stepBytesMax) return false
        }
        return Buffer.concat(chunks).equals(body.view())
      },
    ),
  )
  t.end()
})

t.test('a correct Content-Length ends in a buffer of that size', t => {
  const body = new BodyBuffer(1_000, 64)
  for (let index = 0; index < 10; index++) body.append(new Uint8Array(100))
  t.equal(body.capacity, 1_000)
  t.end()
})

t.test('copies are linear in the size of the body', t => {
  const body = new BodyBuffer(undefined, 1024 ** 2)
  let growths = 0
  let capacity = 0
  for (let index = 0; index < 8 * 1024; index++) {
    body.append(new Uint8Array(1024))
    if (body.capacity !== capacity) growths++
    capacity = body.capacity
  }
  t.ok(growths < 30, `${growths} growths to 8 MiB`)
  t.end()
})

t.test('a body of several chunks stays as it is after its handler', async t => {
  const owned: [bytes: number, isOwned: boolean][] = []
  const kept: Uint8Array[] = []
  const { port } = await openTestServer(t, [
    {
      bodyBytesMax: 1_000_000,
      handle: (_, body, { ownsBody }) => {
        owned.push([body.length, ownsBody])
        if (ownsBody) kept.push(body)
        return text('ok')
      },
    },
  ])
  for (const letter of ['a', 'b']) {
    await exchange(port, post('/t', letter))
    await exchange(port, post('/t', letter.repeat(700_000)))
  }
  t.strictSame(owned, [
    [1, false],
    [700_000, true],
    [1, false],
    [700_000, true],
  ])
  t.strictSame(
    kept.map(body => Buffer.from(body).equals(Buffer.alloc(body.length, body[0]))),
    [true, true],
  )
  t.strictSame(
    kept.map(([first = 0]) => String.fromCharCode(first)),
    ['a', 'b'],
  )
})
