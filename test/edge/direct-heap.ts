// Point reads that are answered before JavaScript allocate nothing in its heap. Counted in a
// process whose young generation is so large that no garbage is collected meanwhile.
import t from 'tap'
import { KEY, read } from '../fixtures/edge/direct.js'
import type { HeapUse } from '../fixtures/edge/direct-process.js'
import { startDirect } from '../fixtures/edge/start-direct.js'
import { connect } from '../fixtures/server/server.js'
import { encodeFrame, openSocket } from '../fixtures/server/socket.js'

/**
 * Sent in one write, so that what Node.js itself allocates in each iteration of its event loop, one
 * empty object of 56 bytes, counts little: with single requests 57 bytes were seen for each packet,
 * with batches of 10 and 100 5.8 and 0.9 bytes a request.
 */
const BATCH = 100
/** The same for requests: these are one read of the server, which cuts none of them. */
const REQUESTS_BATCH = 10
/** Timers of the process and the reports themselves allocate a few KB. */
const DIRECT_BYTES_MAX = 16
const ORDINARY_BYTES_MIN = 500

/** Sends pipelined requests in batches, each when the replies to the last are there. */
const openClient = async (port: number, token: string) => {
  const body = read(KEY)
  const head = `POST /${token} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`
  const connection = await connect(port)
  connection.socket.write(head + body)
  const replyBytes = (await connection.until(now => now.includes('"lamports":5'))).length
  connection.socket.removeAllListeners('data')
  const batch = `${head}${body}`.repeat(REQUESTS_BATCH)
  return async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += REQUESTS_BATCH) {
      let missing = replyBytes * REQUESTS_BATCH
      const whole = new Promise<void>(resolve => {
        const take = (data: Buffer): void => {
          missing -= data.length
          if (missing > 0) return
          connection.socket.off('data', take)
          resolve()
        }
        connection.socket.on('data', take)
      })
      connection.socket.write(batch)
      await whole
      if (missing !== 0) throw new Error('a reply of another length')
    }
  }
}

type Measured = { readonly bytes: number; readonly collections: number }

/** Bytes of heap that each of `count` requests took. */
const measure = async (
  heapUse: () => Promise<HeapUse>,
  run: (count: number) => Promise<void>,
  count: number,
): Promise<Measured> => {
  await run(1_000)
  // The first report allocates what later ones reuse.
  await heapUse()
  const before = await heapUse()
  await run(count)
  const after = await heapUse()
  return { bytes: (after.usedBytes - before.usedBytes) / count, collections: after.collections }
}

t.test('requests allocate nothing in the heap of JavaScript', async t => {
  const { places, heapUse } = await startDirect(t)
  const direct = await openClient(places.direct, places.token)
  const { bytes, collections } = await measure(heapUse, direct, 50_000)
  t.equal(collections, 0)
  t.ok(bytes < DIRECT_BYTES_MAX, `${bytes} bytes a request`)
  const ordinary = await measure(heapUse, await openClient(places.ordinary, places.token), 2_000)
  t.equal(ordinary.collections, 0)
  t.ok(ordinary.bytes > ORDINARY_BYTES_MIN, `${ordinary.bytes} bytes a request the ordinary way`)
})

t.test('messages allocate nothing in the heap of JavaScript', async t => {
  const { places, heapUse } = await startDirect(t)
  const openMessages = async (port: number) => {
    const socket = await openSocket(port, { path: `/${places.token}` })
    t.teardown(() => socket.destroy())
    const batch = Buffer.concat(Array.from({ length: BATCH }, () => encodeFrame(read(KEY))))
    return async (count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += BATCH) {
        socket.socket.write(batch)
        for (let index = 0; index < BATCH; index++) await socket.next()
      }
    }
  }
  const { bytes, collections } = await measure(heapUse, await openMessages(places.direct), 20_000)
  t.equal(collections, 0)
  t.ok(bytes < DIRECT_BYTES_MAX, `${bytes} bytes a message`)
  const ordinary = await measure(heapUse, await openMessages(places.ordinary), 2_000)
  t.equal(ordinary.collections, 0)
  t.ok(ordinary.bytes > ORDINARY_BYTES_MIN, `${ordinary.bytes} bytes a message the ordinary way`)
})
