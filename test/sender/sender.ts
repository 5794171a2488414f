import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { FrameReader, toFrame } from '../../src/submission/link/frames.js'
import { openSocketPath } from '../../src/submission/link/socket-path.js'
import { answer, openRawUpstream } from '../fixtures/submission/raw-upstream.js'
import { openMachine, post, sendBundle, toBundle } from '../fixtures/submission/relay.js'
import { accepted, idOf } from '../fixtures/submission/relay-engine.js'
import { until } from '../fixtures/until.js'

/** Two edges, their sender, and an engine that answers when the test says so. */
const open = async (t: Test, options: { readonly recheck?: () => undefined } = {}) => {
  const replies: (() => void)[] = []
  const engine = await openRawUpstream(t, (socket, { body }) => {
    const said = answer(accepted(body))
    replies.push(() => socket.write(said))
  })
  const machine = await openMachine(t, { urls: [engine.url], edgeCount: 2, ...options })
  const submit = (edge: number, name: string) => {
    const bundle = toBundle('/relay-bundle', name)
    const body = sendBundle('/relay-bundle', bundle)
    return post(machine.edges[edge]?.port ?? 0, '/relay-bundle', body)
  }
  return { engine, machine, submit, release: () => replies.splice(0).forEach(go => go()) }
}

const resultOf = (name: string): string => idOf(toBundle('/relay-bundle', name))

t.test('a bundle that a former sender has in flight is joined at the next one', async t => {
  const { engine, machine, submit, release } = await open(t)
  const first = submit(0, 'same')
  await until('it is at the engine', () => engine.received.length === 1)
  const replaced = machine.replaceSender()
  await sleep(50)
  const second = submit(1, 'same')
  const other = submit(1, 'other')
  await until('another one is at the engine', () => engine.received.length === 2)
  await sleep(50)
  t.equal(engine.received.length, 2, 'the same one is not sent again')
  release()
  t.equal((await first).json.result, resultOf('same'))
  t.equal((await second).json.result, resultOf('same'))
  t.equal((await other).json.result, resultOf('other'))
  await replaced
  const joined = machine.edges[0].meterEvents.filter(event => event === 'joined')
  t.equal(joined.length, 1)
  const again = submit(0, 'same')
  await until('it is sent again when it has ended', () => engine.received.length === 3)
  release()
  t.equal((await again).json.result, resultOf('same'))
})

t.test('a successor that ends before the former sender is told to changes nothing', async t => {
  const { machine, submit, engine, release } = await open(t)
  const socket = connect(openSocketPath(machine.dataDir))
  const told: unknown[] = []
  const reader = new FrameReader(1_000, message => told.push(message))
  socket.on('data', chunk => reader.push(chunk))
  socket.write(toFrame({ kind: 'takeOver' }))
  await until('it has taken over', () => told.length > 1)
  t.strictSame(told, [{ kind: 'open' }, { kind: 'inFlight', keys: [] }])
  // No sender takes it now.
  const waiting = submit(0, 'waiting')
  await sleep(50)
  t.equal(engine.received.length, 0)
  socket.destroy()
  await until('the former one sends it', () => engine.received.length === 1)
  release()
  t.equal((await waiting).json.result, resultOf('waiting'))
})

t.test('a bundle whose access is asked for meanwhile goes to the successor', async t => {
  const { machine, engine } = await open(t)
  const socket = connect(openSocketPath(machine.dataDir))
  const told: { readonly kind: string; readonly call?: number }[] = []
  const reader = new FrameReader(1_000, message => told.push(message as (typeof told)[number]))
  socket.on('data', chunk => reader.push(chunk))
  const transactions = toBundle('/relay-bundle', 'asked')
  const bundleId = resultOf('asked')
  const pending = { accessId: 'access-1', signatures: [], outcome: 'pending' }
  const submissionId = Buffer.alloc(16, 1)
  const bundle = { submissionId, startMs: 0, transactions, bundleId, pending, version: 0 }
  const of = { network: 'main', route: '/relay-bundle', bundle }
  socket.write(toFrame({ kind: 'bundle', call: 7, of }))
  await until('it asks', () => told.length === 2)
  t.strictSame(told, [{ kind: 'open' }, { kind: 'recheck', call: 7 }])
  const replaced = machine.replaceSender()
  await until('it has a successor', () => told.length === 3)
  socket.write(toFrame({ kind: 'rechecked', call: 7, isEnded: false }))
  await until('it declines', () => told.length === 4)
  t.strictSame(told.slice(2), [{ kind: 'moved' }, { kind: 'moved', call: 7 }])
  t.equal(engine.received.length, 0)
  socket.destroy()
  await replaced
})

t.test('while there is no sender, a submission is refused after a second', async t => {
  const { machine, submit } = await open(t)
  await machine.endSender()
  const startMs = performance.now()
  const { status, headers, json } = await submit(0, 'none')
  t.ok(performance.now() - startMs > 900)
  t.equal(status, 503)
  t.equal(headers['retry-after'], '1')
  t.match(json.error, { message: 'Submissions are not taken at this moment; nothing was sent' })
  t.match(headers['x-bundle-id'], resultOf('none'))
})

t.test('messages of any content harm no other connection', async t => {
  const { machine, submit, engine, release } = await open(t)
  const kinds = ['bundle', 'statuses', 'find', 'forward', 'record', 'checked', 'rechecked', 'x']
  const content = fc.record(
    {
      kind: fc.constantFrom(...kinds),
      call: fc.oneof(fc.nat({ max: 3 }), fc.constant(Number.NaN), fc.string()),
      of: fc.oneof(fc.anything(), fc.record({ network: fc.constant('main'), route: fc.string() })),
      id: fc.uint8Array({ maxLength: 20 }),
      submission: fc.anything(),
      known: fc.anything(),
    },
    { requiredKeys: ['kind'], noNullPrototype: true },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(content, { minLength: 1, maxLength: 4 }), async messages => {
      const socket = connect(openSocketPath(machine.dataDir))
      socket.on('error', () => {})
      const isClosed = new Promise(resolve => socket.once('close', resolve))
      socket.end(Buffer.concat(messages.map(toFrame)))
      socket.resume()
      await isClosed
    }),
    { numRuns: 50 },
  )
  t.equal(engine.received.length, 0, 'nothing of it is sent')
  const sent = submit(0, 'fine')
  await until('it is at the engine', () => engine.received.length === 1)
  release()
  t.equal((await sent).json.result, resultOf('fine'))
})

t.test('what is no message ends one connection, and no other', async t => {
  const { machine, submit, engine, release } = await open(t)
  for (const bytes of [Buffer.alloc(64, 0xff), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
    const socket = connect(openSocketPath(machine.dataDir))
    const isClosed = new Promise(resolve => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.resume()
    socket.write(bytes)
    await isClosed
  }
  const sent = submit(0, 'fine')
  await until('it is at the engine', () => engine.received.length === 1)
  release()
  t.equal((await sent).json.result, resultOf('fine'))
})
