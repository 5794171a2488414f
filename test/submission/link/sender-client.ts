import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FrameReader, toFrame } from '../../../src/submission/link/frames.js'
import { SenderClient } from '../../../src/submission/link/sender-client.js'
import { SenderServer } from '../../../src/submission/link/sender-server.js'
import { openSocketPath } from '../../../src/submission/link/socket-path.js'
import { UpstreamFailure } from '../../../src/upstream/errors.js'
import { PENDING } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

const MIB = 1024 ** 2
const ID = Buffer.alloc(16)

const LISTENER = `
const [path, hello] = process.argv.slice(1)
const onConnection = socket => socket.write(Buffer.from(hello, 'hex'))
require('node:net').createServer(onConnection).listen(path, () => process.stdout.write('ready'))
`

/** A sender that reads nothing, until it is stopped. */
const openStopped = async (t: Test) => {
  // The path of a socket is short.
  const dir = mkdtempSync(join(tmpdir(), 'sender-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'sock')
  const child = spawn(
    process.execPath,
    ['-e', LISTENER, path, toFrame({ kind: 'open' }).toString('hex')],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return {
    path,
    stop: () => void child.kill('SIGSTOP'),
    end: () => void child.kill('SIGKILL'),
  }
}

const heldBytes = (): number => {
  const { arrayBuffers, external } = process.memoryUsage()
  return Math.max(arrayBuffers, external)
}

const toRequest = (body: Buffer) =>
  ({
    id: ID,
    network: 'main',
    route: '/lander',
    from: { accessId: 'a', tokenId: 't', location: 'fra' },
    receivedAtMs: 0,
    body,
    version: 1,
  }) as const

t.test('a sender that is stopped costs an edge no more than its bound', async t => {
  const { path, end, stop } = await openStopped(t)
  const client = new SenderClient({
    path,
    waitMs: 60_000,
    callsMax: 4_096,
    bytesMax: 64 * MIB,
    answerBytesMax: 64 * MIB,
    onTold: () => {},
    onFault: fault => t.fail(String(fault)),
  })
  t.teardown(() => client.close())
  const failures: UpstreamFailure['kind'][] = []
  const fail = (failure: unknown): undefined => {
    if (!(failure instanceof UpstreamFailure)) throw failure
    failures.push(failure.kind)
  }
  // Connections are taken by the system.
  let first: Promise<unknown> | undefined
  await new Promise<void>(resolve => {
    const hooks = { onWritten: () => resolve() }
    first = client.call('forward', toRequest(Buffer.alloc(1)), hooks).catch(fail)
  })
  stop()
  const body = Buffer.alloc(MIB)
  const beforeBytes = heldBytes()
  const calls = Array.from({ length: 1_000 }, () =>
    client.call('forward', toRequest(body)).catch(fail),
  )
  await until('those beyond the bound have failed', () => failures.length >= 1_000 - 63)
  t.equal(failures.length, 1_000 - 63)
  t.ok(failures.every(kind => kind === 'full'))
  // Of a sender that reads nothing, each record would be kept for ever.
  for (let nth = 0; nth < 100_000; nth++) client.record(ID, PENDING)
  const heldMib = (heldBytes() - beforeBytes) / MIB
  t.ok(heldMib < 150, `${Math.round(heldMib)} MiB`)
  end()
  await Promise.all([first, ...calls])
  t.equal(failures.filter(kind => kind === 'no-response').length, 64, 'nobody knows of these')
})

t.test('small calls are bounded by their number', async t => {
  const { path, stop } = await openStopped(t)
  stop()
  const client = new SenderClient({
    path,
    waitMs: 60_000,
    callsMax: 100,
    bytesMax: 64 * MIB,
    answerBytesMax: 64 * MIB,
    onTold: () => {},
    onFault: fault => t.fail(String(fault)),
  })
  let fullCount = 0
  const calls = Array.from({ length: 1_000 }, () =>
    client.call('forward', toRequest(Buffer.alloc(1))).catch(({ kind }: UpstreamFailure) => {
      if (kind === 'full') fullCount++
    }),
  )
  await until('those beyond the bound have failed', () => fullCount === 900)
  await client.close()
  await Promise.all(calls)
  t.equal(fullCount, 900)
})

t.test('what a process that is ending takes is for the next sender', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'sender-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'sock')
  // It takes connections as the system does for one that was killed, and drops them.
  let droppedCount = 0
  const ending = createServer(socket => {
    setTimeout(() => socket.destroy(), 5)
    droppedCount++
  })
  await new Promise<void>(resolve => ending.listen(path, resolve))
  const client = new SenderClient({
    path,
    waitMs: 60_000,
    callsMax: 10,
    bytesMax: MIB,
    answerBytesMax: MIB,
    onTold: () => {},
    onFault: fault => t.fail(String(fault)),
  })
  t.teardown(() => client.close())
  client.record(ID, PENDING)
  const call = client.call('find', { query: { key: 'a', accessId: 'a', network: 'main' } })
  await until('it has dropped some', () => droppedCount > 3)
  await new Promise(resolve => ending.close(resolve))
  const kinds: unknown[] = []
  const next = createServer(socket => {
    const reader = new FrameReader(MIB, message => {
      const { kind, call } = message as { kind: string; call?: number }
      kinds.push(kind)
      if (call !== undefined) socket.write(toFrame({ kind: 'answer', call, answer: undefined }))
    })
    socket.on('data', chunk => reader.push(chunk))
    socket.write(toFrame({ kind: 'open' }))
  })
  await new Promise<void>(resolve => next.listen(path, resolve))
  t.equal(await call, undefined)
  t.strictSame(kinds, ['record', 'find'], 'each once')
  await client.close()
  await new Promise(resolve => next.close(resolve))
})

t.test('only the user of the service reaches the socket of the sender', async t => {
  const dataDir = t.testdir()
  // As a copy may have left it.
  mkdirSync(join(dataDir, 'sender'), { mode: 0o777 })
  const never = (): never => {
    throw new Error('never called')
  }
  const server = new SenderServer({
    path: openSocketPath(dataDir),
    messageBytesMax: 1_000,
    handlers: { bundle: never, statuses: never, find: never, forward: never, record: never },
    version: () => 1,
    inFlight: () => [],
    remembered: () => [],
    onSuccessor: async () => {},
    onSuccessorLost: async () => {},
    onFault: fault => t.fail(String(fault)),
  })
  await server.listen()
  t.teardown(() => server.close())
  const { mode } = statSync(join(dataDir, 'sender', 'sender.sock'))
  t.equal(mode & 0o777, 0o600)
})
