import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { BodySource, Reply } from '../../../src/shared/http.js'
import {
  connect,
  eventually,
  exchange,
  openTestServer,
  post,
  replyCount,
  splitReplies,
  text,
} from '../../fixtures/server/server.js'

const MIB = 1024 ** 2

/** A source of `total` bytes that repeat the alphabet, and what was done to it. */
const alphabet = (total: number, isSync: boolean, isKnown = true) => {
  const state = { readBytes: 0, closeCount: 0, largestRead: 0 }
  const source: BodySource = {
    byteLength: isKnown ? total : undefined,
    read: into => {
      const count = Math.min(into.byteLength, total - state.readBytes)
      for (let index = 0; index < count; index++)
        into[index] = 97 + ((state.readBytes + index) % 26)
      state.readBytes += count
      state.largestRead = Math.max(state.largestRead, count)
      return isSync ? count : new Promise(resolve => setImmediate(() => resolve(count)))
    },
    close: () => void state.closeCount++,
  }
  return { source, state }
}

const isAlphabet = (body: string): boolean => {
  for (let at = 0; at < body.length; at++) if (body.charCodeAt(at) !== 97 + (at % 26)) return false
  return true
}

const unchunk = (body: string): string => {
  let text = ''
  for (let at = 0; ;) {
    const end = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.slice(at, end), 16)
    if (length === 0) return text
    text += body.slice(end + 2, end + 2 + length)
    at = end + 2 + length + 2
  }
}

/** Whether a reply has come to its end: that of its body's length, or that of its chunks. */
const isWhole = (received: string, bodyBytes: number | undefined): boolean =>
  bodyBytes === undefined
    ? received.endsWith('\r\n0\r\n\r\n')
    : received.length >= received.indexOf('\r\n\r\n') + 4 + bodyBytes

t.test('a large reply arrives complete', async t => {
  const size = 3 * MIB + 7
  const bytes = Buffer.alloc(size, 'abcdefghijklmnopqrstuvwxyz')
  const cases: [name: string, body: () => Reply['body'], isChunked: boolean][] = [
    ['a source, synchronous', () => alphabet(size, true).source, false],
    ['a source, asynchronous', () => alphabet(size, false).source, false],
    ['a source of unknown length', () => alphabet(size, true, false).source, true],
    ['an asynchronous one of unknown length', () => alphabet(size, false, false).source, true],
    ['bytes', () => bytes, false],
    ['a string', () => bytes.toString(), false],
  ]
  for (const [name, body, isChunked] of cases) {
    t.test(name, async t => {
      const { port, server } = await openTestServer(t, [{ handle: () => text(body()) }])
      const connection = await connect(port)
      connection.socket.write(post('/t', 'x'))
      await connection.until(now => isWhole(now, isChunked ? undefined : size))
      await eventually(() => server.stats().requestsInFlight === 0)
      const received = connection.received()
      const whole = received.slice(received.indexOf('\r\n\r\n') + 4)
      const plain = isChunked ? unchunk(whole) : whole
      t.equal(plain.length, size)
      t.ok(isAlphabet(plain))
      t.match(server.stats(), { repliesInFlight: 0, replyBytesInFlight: 0, abortedCount: 0 })
      connection.socket.write(post('/a/b', 'x'))
      await connection.until(now => now.includes('HTTP/1.1 404'))
      connection.socket.destroy()
    })
  }
  t.test('a reused buffer is copied before the handler reuses it', async t => {
    const reused = Buffer.alloc(size, 'abcdefghijklmnopqrstuvwxyz')
    const { port } = await openTestServer(t, [
      { handle: () => (setImmediate(() => reused.fill('!')), text(reused)) },
    ])
    t.ok(isAlphabet(splitReplies(await exchange(port, post('/t', 'x')))[0]?.body ?? '!'))
  })
})

t.test('a client that stops reading buffers one chunk, and its source is closed once', async t => {
  for (const isSync of [true, false]) {
    const { source, state } = alphabet(50 * MIB, isSync)
    const { port, server } = await openTestServer(t, [{ handle: () => text(source) }])
    const connection = await connect(port)
    const before = process.memoryUsage.rss()
    connection.socket.write(post('/t', 'x'))
    await connection.until(now => now.length > 0)
    connection.socket.pause()
    let seen = -1
    await eventually(() => {
      const isStill = seen === state.readBytes
      seen = state.readBytes
      return isStill && server.stats().repliesInFlight === 1
    })
    t.ok(state.readBytes < 20 * MIB, `stopped after ${state.readBytes} bytes`)
    t.ok(process.memoryUsage.rss() - before < 40 * MIB)
    t.equal(state.closeCount, 0)
    connection.socket.destroy()
    await eventually(() => server.stats().requestsInFlight === 0)
    t.equal(state.closeCount, 1)
    t.equal(state.largestRead, 64 * 1024)
    t.match(server.stats(), { repliesInFlight: 0, abortedCount: 1 })
  }
})

t.test('a client that resumes reading gets the rest', async t => {
  for (const byteLength of [20 * MIB, undefined]) {
    const { source, state } = alphabet(20 * MIB, true, byteLength !== undefined)
    const { port, server } = await openTestServer(t, [{ handle: () => text(source) }])
    const connection = await connect(port)
    connection.socket.pause()
    connection.socket.write(post('/t', 'x'))
    await eventually(() => state.readBytes > 0)
    for (let pause = 0; pause < 5; pause++) {
      await new Promise(resolve => setTimeout(resolve, 10))
      connection.socket.resume()
      await new Promise(resolve => setTimeout(resolve, 3))
      connection.socket.pause()
    }
    connection.socket.resume()
    await eventually(() => server.stats().requestsInFlight === 0)
    const received = await connection.until(now => isWhole(now, byteLength))
    const whole = received.slice(received.indexOf('\r\n\r\n') + 4)
    t.ok(isAlphabet(byteLength === undefined ? unchunk(whole) : whole))
    t.equal(state.closeCount, 1)
    connection.socket.destroy()
  }
})

t.test('a reply without progress is abandoned', async t => {
  const { source, state } = alphabet(50 * MIB, true)
  const { port, server, lines } = await openTestServer(t, [{ handle: () => text(source) }], {
    options: { replyStallMs: 100 },
  })
  const reader = await connect(port)
  reader.socket.pause()
  reader.socket.write(post('/t', 'x'))
  await eventually(() => state.closeCount === 1)
  t.match(lines.join(''), /The client stopped reading/)
  reader.socket.destroy()
  await eventually(() => server.stats().repliesInFlight === 0)
})

t.test('a reply whose source takes long is no reply that its client does not read', async t => {
  const { source } = alphabet(3 * 64 * 1024, false)
  const slow: BodySource = {
    ...source,
    read: async target => {
      await sleep(400)
      return source.read(target)
    },
  }
  const { port, server } = await openTestServer(t, [{ handle: () => text(slow) }], {
    options: { replyStallMs: 100 },
  })
  const connection = await connect(port)
  connection.socket.write(post('/t', 'x'))
  const [reply] = splitReplies(
    await connection.until(now => splitReplies(now)[0]?.body.length === 3 * 64 * 1024),
  )
  t.equal(reply?.body.length, 3 * 64 * 1024)
  t.equal(server.stats().abandonedCount, 0)
})

t.test('a source with wrong counts or lengths ends the reply', async t => {
  const boom = new Error('boom')
  const cases: [name: string, read: (call: number) => number | Promise<number>][] = [
    ['too short', call => (call === 0 ? 4 : 0)],
    ['too long', call => (call === 0 ? 4 : 7)],
    ['no number of bytes', call => (call === 0 ? 4 : Number.NaN)],
    ['a failure', call => (call === 0 ? 4 : Promise.reject(boom))],
    [
      'a throw',
      call => {
        if (call === 0) return 4
        throw boom
      },
    ],
  ]
  for (const [name, read] of cases) {
    t.test(name, async t => {
      let calls = 0
      let closeCount = 0
      const source = { byteLength: 10, read: () => read(calls++), close: () => void closeCount++ }
      const { port, server, lines } = await openTestServer(t, [{ handle: () => text(source) }])
      const connection = await connect(port)
      connection.socket.write(post('/t', 'x'))
      await connection.closed
      t.equal(replyCount(connection.received()), 0, 'the client sees that it is incomplete')
      t.equal(closeCount, 1)
      t.match(lines.join(''), /a reply was not completed/)
      await eventually(() => server.stats().requestsInFlight === 0)
    })
  }
})

t.test('small requests are answered between the chunks of large ones', async t => {
  const states: { readBytes: number }[] = []
  const { port, server } = await openTestServer(t, [
    {
      pattern: '/large/:n',
      handle: () => {
        const { source, state } = alphabet(30 * MIB, true)
        states.push(state)
        return text(source)
      },
    },
    { handle: () => text('small') },
  ])
  const large = await Promise.all([connect(port), connect(port)])
  for (const connection of large) {
    connection.socket.on('data', () => {})
    connection.socket.write(post('/large/1', 'x'))
  }
  const small = await connect(port)
  await eventually(() => states.length === 2)
  let between = 0
  while (server.stats().repliesInFlight === 2) {
    const count = replyCount(small.received())
    small.socket.write(post('/t', 'x'))
    await small.until(now => replyCount(now) > count)
    between++
  }
  t.ok(between >= 5, `${between} small replies in between`)
  for (const connection of [...large, small]) connection.socket.destroy()
})

t.test('HEAD and an empty source send no body', async t => {
  const empty = alphabet(0, true)
  const headed = alphabet(100, true)
  const bodies = [empty.source, headed.source]
  const { port } = await openTestServer(t, [
    { method: 'GET', bodyBytesMax: 0, handle: () => text(bodies.shift() ?? '') },
  ])
  t.match(await exchange(port, 'GET /t HTTP/1.1\r\nHost: a\r\n\r\n'), /Content-Length: 0\r\n\r\n$/)
  const connection = await connect(port)
  connection.socket.write('HEAD /t HTTP/1.1\r\nHost: a\r\n\r\n')
  t.match(await connection.until(now => now.endsWith('\r\n\r\n')), /Content-Length: 100\r/)
  connection.socket.destroy()
  t.strictSame([empty.state.closeCount, headed.state.closeCount], [1, 1])
})

t.test('a reply that closes its connection', async t => {
  const ancient = 'POST /t HTTP/1.0\r\nContent-Length: 1\r\n\r\nx'
  const reused = Buffer.alloc(5)
  const reusing = await openTestServer(t, [
    {
      handle: () => {
        setImmediate(() => reused.fill('!'))
        return text(reused.fill('a'))
      },
    },
  ])
  t.match(await exchange(reusing.port, ancient), /\r\n\r\naaaaa$/, 'is its own')
  for (const isKnown of [true, false]) {
    const { source, state } = alphabet(MIB, false, isKnown)
    const { port, server } = await openTestServer(t, [{ handle: () => text(source) }])
    const whole = await connect(port)
    whole.socket.write(ancient)
    await whole.closed
    const [reply] = splitReplies(whole.received())
    t.notMatch(reply?.head, /keep-alive/i)
    t.equal(reply?.body.length, MIB, 'the whole reply, then the end')
    t.equal(state.closeCount, 1)
    t.equal(server.stats().replyBytesInFlight, 0)
  }
})
