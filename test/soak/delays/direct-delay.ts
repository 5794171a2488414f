// Point reads that are answered before JavaScript wait for JavaScript only while it holds the event
// loop.
import { setTimeout as sleep } from 'node:timers/promises'
import { clockMs } from '../../fixtures/edge/clock.js'
import { KEY, read } from '../../fixtures/edge/direct.js'
import type { Held } from '../../fixtures/edge/direct-process.js'
import { startDirect } from '../../fixtures/edge/start-direct.js'
import { connect, replyCount } from '../../fixtures/server/server.js'
import { soakTest } from '../../fixtures/soak.js'

const HOLDS = 10
/** A read that takes longer is delayed. */
const DELAYED_MS = 20
/** Reads that the machine may delay. */
const NOISE_SHARE = 0.01

type Read = { readonly sentMs: number; readonly repliedMs: number }

const isDuring = ({ sentMs, repliedMs }: Read, { heldFromMs, heldToMs }: Held): boolean =>
  sentMs < heldToMs && repliedMs > heldFromMs

soakTest('a held event loop is all that delays reads', {}, async t => {
  const { places, hold } = await startDirect(t)
  const body = read(KEY)
  const request = `POST /${places.token} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const reads: Read[] = []
  let isStopped = false
  const client = async (): Promise<void> => {
    while (!isStopped) {
      const connection = await connect(places.direct)
      for (let count = 1; count <= 50 && !isStopped; count++) {
        const sentMs = clockMs()
        connection.socket.write(request)
        await connection.until(now => replyCount(now) >= count)
        reads.push({ sentMs, repliedMs: clockMs() })
        await sleep(1)
      }
      connection.socket.destroy()
    }
  }
  const clients = Promise.all(Array.from({ length: 4 }, client))
  await sleep(200)
  reads.length = 0
  const held: Held[] = []
  for (let count = 0; count < HOLDS; count++) {
    held.push(await hold())
    await sleep(50)
  }
  isStopped = true
  await clients

  const delayed = reads.filter(({ sentMs, repliedMs }) => repliedMs - sentMs > DELAYED_MS)
  const unexplained = delayed.filter(one => !held.some(each => isDuring(one, each)))
  t.ok(unexplained.length <= reads.length * NOISE_SHARE, `${unexplained.length} of ${reads.length}`)
  const afterMs = held.map(({ heldToMs }) => {
    const waiting = reads.filter(one => one.sentMs < heldToMs && one.repliedMs > heldToMs)
    t.ok(waiting.length > 0 && waiting.length <= 4, 'clients wait for its end')
    return Math.min(...waiting.map(({ repliedMs }) => repliedMs - heldToMs))
  })
  const median = afterMs.sort((one, other) => one - other)[HOLDS / 2] ?? Infinity
  t.ok(median < DELAYED_MS, `answered ${median} ms after it`)
})
