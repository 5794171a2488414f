import fc from 'fast-check'
import t from 'tap'
import { BodyBuffer } from '../../../src/server/http/body-buffer.js'
import { BodyPool } from '../../../src/server/http/body-pool.js'
import { eventually, exchange, openTestServer, post, text } from '../../fixtures/server/server.js'

const POOL_OPTIONS = { bodiesPooledBytesMax: 1024 ** 2, bodiesPooledMs: 20 }

t.test('chunks are joined, and memory follows the received bytes', t => {
  const pool = new BodyPool({ ...POOL_OPTIONS, bodiesPooledMs: 60_000 })
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 300 }),
      fc.option(fc.integer({ min: 0, max: 1_000_000 }), { nil: Infinity }),
      (chunks, stepBytesMax, bytesMax) => {
        const body = new BodyBuffer(pool, bytesMax, stepBytesMax)
        for (const chunk of chunks) {
          const capacity = body.capacityWith(chunk.byteLength)
          body.append(chunk)
          if (body.capacity !== capacity) return false
          if (body.capacity > pool.sizeOf(body.byteLength + stepBytesMax)) return false
        }
        return Buffer.concat(chunks).equals(body.view())
      },
    ),
  )
  t.end()
})

t.test('long bodies of any lengths, one after another in the same memory', t => {
  const pool = new BodyPool({ ...POOL_OPTIONS, bodiesPooledMs: 60_000 })
  t.teardown(() => pool.close())
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 255 }),
      (lengths, first) => {
        const body = new BodyBuffer(pool, Infinity, 400_000)
        const chunks = lengths.map((length, nth) => new Uint8Array(length).fill(first + nth))
        for (const chunk of chunks) body.append(chunk)
        const isWhole = Buffer.concat(chunks).equals(body.view())
        const isBounded = body.capacity <= pool.sizeOf(body.byteLength + 400_000)
        body.release()
        return isWhole && isBounded && body.capacity === 0
      },
    ),
    { numRuns: 50 },
  )
  t.ok(pool.pooledBytes > 0 && pool.pooledBytes <= POOL_OPTIONS.bodiesPooledBytesMax)
  t.end()
})

t.test('a correct Content-Length ends in a buffer of that size, from 1 KiB a power of two', t => {
  const pool = new BodyPool(POOL_OPTIONS)
  for (const [length, capacity] of [
    [1_020, 1_020],
    [1_030, 2_048],
    [65_540, 131_072],
    [1_048_570, 1_048_576],
  ] as const) {
    const body = new BodyBuffer(pool, length, 8 * 1024 ** 2)
    for (let index = 0; index < 10; index++) body.append(new Uint8Array(length / 10))
    t.equal(body.byteLength, length)
    t.equal(body.capacity, capacity)
  }
  pool.close()
  t.end()
})

t.test('copies are linear in the size of the body', t => {
  const body = new BodyBuffer(new BodyPool(POOL_OPTIONS), Infinity, 1024 ** 2)
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

t.test('buffers are reused, within a bound, and dropped where none is needed', async t => {
  const pool = new BodyPool({ bodiesPooledBytesMax: 300_000, bodiesPooledMs: 20 })
  t.teardown(() => pool.close())
  const [first, second, third] = [pool.take(100_000), pool.take(131_072), pool.take(65_536)]
  pool.give(pool.take(1_000))
  t.equal(pool.pooledBytes, 0, 'short ones are not kept')
  for (const buffer of [first, second, third]) pool.give(buffer)
  t.equal(pool.pooledBytes, 262_144, 'one would be over the bound')
  t.equal(pool.take(120_000), second)
  t.equal(pool.take(120_000), first)
  t.not(pool.take(120_000), first)
  pool.give(first)
  await eventually(() => pool.pooledBytes === 0)
  t.not(pool.take(120_000), first)
})

t.test('a body of several chunks stays as it is until its reply, whoever sends others', async t => {
  const owned: [bytes: number, isOwned: boolean][] = []
  let waiting = 0
  let wake = (): void => {}
  const all = new Promise<void>(resolve => (wake = resolve))
  const { port, server } = await openTestServer(t, [
    {
      bodyBytesMax: 1_000_000,
      handle: async (_, body, { ownsBody }) => {
        owned.push([body.length, ownsBody])
        if (!ownsBody) return text('short')
        if (++waiting === 3) wake()
        await all
        return text(String(Buffer.from(body).equals(Buffer.alloc(body.length, body[0]))))
      },
    },
  ])
  const send = (letter: string, length: number): Promise<string> =>
    exchange(port, post('/t', letter.repeat(length)))
  const replies = ['a', 'b', 'c'].map(letter => send(letter, 700_000))
  t.match(await send('d', 1), /short$/)
  for (const reply of await Promise.all(replies)) t.match(reply, /true$/)
  t.match(await send('e', 700_000), /true$/)
  t.strictSame(
    owned.toSorted(([a], [b]) => a - b),
    [[1, false], ...Array.from({ length: 4 }, () => [700_000, true])],
  )
  t.equal(server.stats().bodyBytesInFlight, 0)
})
