import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { defaults, type Options } from '../../../src/dashboard/webhooks/options.js'
import { createResolve, type Resolve } from '../../../src/dashboard/webhooks/resolve.js'
import { createSend, type SendResult } from '../../../src/dashboard/webhooks/send.js'
import { Secret } from '../../../src/shared/secret.js'
import { openNameServer } from '../../fixtures/dashboard/name-server.js'
import { openReceiver, signatureOf, type Receiver } from '../../fixtures/dashboard/receiver.js'
import { makeAuthority } from '../../fixtures/ingest/authority.js'
import { freePorts } from '../../fixtures/free-ports.js'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const MESSAGE = { messageId: 'msg_1', body: '{"type":"access.test","data":{}}' }
const SANDBOX = { ...defaults, allowLoopback: true }

const sendTo = (
  url: string,
  options: Partial<Options> = {},
  resolve: Resolve = createResolve({ ...SANDBOX, ...options }),
  stopping: AbortSignal = new AbortController().signal,
): Promise<SendResult> => {
  const send = createSend(
    { ...SANDBOX, ...options },
    { resolve, now: Date.now, elapsed: () => performance.now() },
  )
  const target = { url: new Secret(url), secret: new Secret(SECRET) }
  return send(target, MESSAGE, stopping)
}

const receiverOf = async (t: Test, answer: Receiver['answer']): Promise<Receiver> => {
  const receiver = await openReceiver(t)
  receiver.answer = answer
  return receiver
}

t.test('a message arrives as it is, signed', async t => {
  const receiver = await openReceiver(t)
  t.match(await sendTo(receiver.url), { status: 204, problem: '' })
  const [received] = receiver.received
  if (received === undefined) return t.fail('nothing arrived')
  t.equal(received.text, MESSAGE.body)
  t.equal(received.id, 'msg_1')
  t.equal(received.signature, signatureOf(SECRET, received))
  t.ok(Math.abs(Date.now() / 1_000 - Number(received.timestamp)) < 60)
})

t.test('statuses', async t => {
  const cases: readonly (readonly [status: number, problem: string])[] = [
    [200, ''],
    [299, ''],
    [304, 'answered 304: redirects are not followed'],
    [410, 'answered 410 Gone'],
    [500, 'answered 500'],
  ]
  for (const [status, problem] of cases) {
    const receiver = await receiverOf(t, response => response.writeHead(status).end())
    t.match(await sendTo(receiver.url), { status, problem })
  }
})

t.test('a redirect to this machine is not followed', async t => {
  const inside = await openReceiver(t)
  const receiver = await receiverOf(t, response =>
    response.writeHead(307, { location: inside.url }).end(),
  )
  const problem = 'answered 307: redirects are not followed'
  t.match(await sendTo(receiver.url), { status: 307, problem })
  t.equal(inside.received.length, 0)
})

t.test('of a long answer only the beginning is read', async t => {
  let written = 0
  let isCut = false
  const receiver = await receiverOf(t, response => {
    response.writeHead(200)
    const chunk = Buffer.alloc(64 * 1024)
    const write = (): void => {
      while (written < 8 * 1024 ** 2) {
        written += chunk.length
        if (!response.write(chunk)) return
      }
      response.end()
    }
    response.on('drain', write).on('close', () => (isCut = !response.writableFinished))
    write()
  })
  t.match(await sendTo(receiver.url), { status: 200, problem: '' })
  t.ok(isCut || written < 8 * 1024 ** 2, `${written} bytes were taken`)
})

t.test('long headers, no answer, a slow body', async t => {
  const long = await receiverOf(t, response =>
    response.writeHead(200, { 'x-long': 'x'.repeat(defaults.answerBytesMax) }).end(),
  )
  t.match(await sendTo(long.url), {
    status: null,
    problem: 'the headers of the answer are too long',
  })
  const silent = await receiverOf(t, () => {})
  const slow = await sendTo(silent.url, { sendMs: 100 })
  t.match(slow, { status: null, problem: 'no answer within 100 ms' })
  t.ok(slow.elapsedMs >= 95 && slow.elapsedMs < 5_000, `${slow.elapsedMs} ms`)
  const dripping = await receiverOf(t, response => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 10)
    response.on('close', () => clearInterval(timer))
  })
  t.match(await sendTo(dripping.url, { sendMs: 200 }), { status: 200, problem: '' })
})

t.test('receivers that are not there, or speak something else', async t => {
  t.match(await sendTo(`http://127.0.0.1:${await freePorts()}/`), {
    status: null,
    problem: 'the connection was refused',
  })
  const open = async (answer: string): Promise<string> => {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(answer))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const address = server.address()
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
  }
  t.match(await sendTo(await open('')), {
    problem: 'the connection was closed without an answer',
  })
  t.match(await sendTo(await open('SSH-2.0-x\r\n')), { problem: 'the answer is not HTTP/1.1' })
})

t.test('a certificate that nobody trusts', async t => {
  const receiver = await openReceiver(t, makeAuthority().tls)
  const { problem } = await sendTo(receiver.url)
  t.match(problem, /^the certificate or TLS of the receiver is wrong \([A-Z_]+\)$/)
  t.equal(receiver.received.length, 0)
})

t.test('a name that resolves to this machine is refused', async t => {
  const receiver = await openReceiver(t)
  const { port } = new URL(receiver.url)
  const server = await openNameServer(t, [['127.0.0.1']])
  const url = `https://hooks.example.com:${port}/`
  t.match(await sendTo(url, {}, createResolve(defaults, [server])), {
    status: null,
    problem: 'hooks.example.com resolves to an address of a private or reserved network',
  })
  t.equal(receiver.received.length, 0)
})

t.test('the connection is made to the address that was checked, not to the name', async t => {
  const receiver = await openReceiver(t)
  const { port } = new URL(receiver.url)
  let count = 0
  const resolve: Resolve = async () => {
    count += 1
    return [{ address: '127.0.0.1', family: 4 }]
  }
  // No name server knows it: another look-up would fail.
  t.match(await sendTo(`http://hooks.invalid:${port}/`, {}, resolve), { status: 204 })
  t.equal(count, 1)
})

t.test('of several addresses one that answers is enough', async t => {
  const receiver = await openReceiver(t)
  const { port } = new URL(receiver.url)
  const resolve: Resolve = async () => [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ]
  t.match(await sendTo(`http://hooks.invalid:${port}/`, {}, resolve), { status: 204 })
})

t.test('an attempt ends when the service stops', async t => {
  const silent = await openReceiver(t)
  const stopping = new AbortController()
  silent.answer = () => stopping.abort()
  t.match(await sendTo(silent.url, {}, createResolve(SANDBOX), stopping.signal), {
    status: null,
    problem: 'the service was stopped meanwhile',
  })
})

t.test('a look-up that does not end is not waited for', async t => {
  const resolve: Resolve = () => sleep(1_000, [])
  t.match(await sendTo('https://hooks.example.com/', { sendMs: 50 }, resolve), {
    status: null,
    problem: 'no answer within 50 ms',
  })
})
