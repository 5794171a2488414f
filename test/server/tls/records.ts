// How many writes the replies of one read cost, seen as records of TLS: each write makes one.
import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { makeCertificate } from '../../fixtures/server/certificates.js'
import { openTestServer, post, text } from '../../fixtures/server/server.js'
import { until } from '../../fixtures/until.js'

const HEAD_BYTES = 5
const APPLICATION_DATA = 0x17
const RECORD_BYTES = 16 * 1024

/** Counts the records of data in a stream of TLS. */
const createCounter = () => {
  let rest = Buffer.alloc(0)
  let records = 0
  return {
    count: () => records,
    add: (chunk: Buffer): void => {
      rest = Buffer.concat([rest, chunk])
      while (rest.length >= HEAD_BYTES) {
        const length = HEAD_BYTES + rest.readUInt16BE(3)
        if (rest.length < length) return
        if (rest[0] === APPLICATION_DATA) records++
        rest = rest.subarray(length)
      }
    },
  }
}

/** A client whose connection passes through a socket that counts what the server sends. */
const openCounted = async (t: Test, port: number) => {
  const counter = createCounter()
  const between = net.createServer(inner => {
    const outer = net.connect({ port, host: '127.0.0.1' })
    outer.on('data', counter.add)
    outer.pipe(inner)
    inner.pipe(outer)
    for (const socket of [inner, outer]) socket.on('error', () => {})
    t.teardown(() => [inner, outer].forEach(socket => socket.destroy()))
  })
  between.listen(0, '127.0.0.1')
  await once(between, 'listening')
  t.teardown(() => between.close())
  const address = between.address()
  const to = address !== null && typeof address === 'object' ? address.port : 0
  const client = tls.connect({ port: to, host: '127.0.0.1', rejectUnauthorized: false })
  t.teardown(() => client.destroy())
  let received = ''
  client.on('data', chunk => (received += chunk.toString('latin1')))
  await once(client, 'secureConnect')
  return { client, counter, received: () => received }
}

t.test('replies to requests of one read share their records', async t => {
  const cases: [name: string, bytes: number, requests: number][] = [
    ['short replies', 33, 200],
    ['replies that fill a record now and then', 3_000, 60],
    ['replies longer than a record', 40_000, 4],
  ]
  for (const [name, bytes, requests] of cases) {
    const body = 'x'.repeat(bytes)
    const { port } = await openTestServer(t, [{ handle: () => text(body) }], {
      listeners: [{ host: '127.0.0.1', port: 0, tls: makeCertificate(t.testdir(), 'own') }],
    })
    const { client, counter, received } = await openCounted(t, port)
    const replies = (): number => received().split('HTTP/1.1 200 OK').length - 1
    client.write(post('/t', 'x'))
    await until('the first reply', () => received().endsWith(body))
    const before = { records: counter.count(), length: received().length }
    client.write(post('/t', 'x').repeat(requests))
    await until(name, () => replies() === requests + 1 && received().endsWith(body))
    const sent = received().length - before.length
    t.equal(sent, requests * before.length, `${name}: every reply is whole`)
    const records = counter.count() - before.records
    // Each read ends with a record that is not full, and a long reply has records of its own.
    const most = 3 * Math.ceil(sent / RECORD_BYTES) + 8
    t.ok(records <= most, `${name}: ${records} records, at most ${most}`)
  }
})
