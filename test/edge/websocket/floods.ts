import t, { type Test } from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaults } from '../../../src/config/sections/process-options.js'
import type { Grant } from '../../../src/shared/grant.js'
import { WIDE_LIMITS } from '../../fixtures/access/access.js'
import { call, GRANT, openSockets } from '../../fixtures/edge/sockets.js'
import { eventually } from '../../fixtures/server/server.js'
import { encodeFrame } from '../../fixtures/server/socket.js'
import { isSoak } from '../../fixtures/soak.js'
import { quietest } from '../../fixtures/quietest.js'

const { socketPauseMs, socketRefusedMax } = defaults
const SOCKETS = 32
/** Frames of 2 KiB, which are read at once and handled before a pause begins. */
const READ_BYTES = 2 * 1024

/** An edge with a method and an access that may call it once a second. */
const openEdge = (t: Test, requestsBurstMax = 1) => {
  const limits = {
    ...WIDE_LIMITS,
    requestsPerSecondMax: 1,
    requestsBurstMax,
    socketsMax: SOCKETS + 1,
  }
  const grant: Grant = { ...GRANT, limits }
  return openSockets(t, {
    methods: { now: () => Buffer.from('true') },
    authenticate: () => grant,
  })
}

/** Writes a frame many times on each of 32 sockets; returns what counts their frames. */
const flood = async (edge: Awaited<ReturnType<typeof openEdge>>, frame: Buffer, bytes: number) => {
  const copies = Buffer.concat(Array<Buffer>(Math.ceil(bytes / frame.length)).fill(frame))
  const clients = await Promise.all(Array.from({ length: SOCKETS }, () => edge.connect()))
  for (const { socket } of clients) socket.write(copies)
  return {
    clients,
    answers: (): number => clients.reduce((sum, { opcodes }) => sum + opcodes.length, 0),
  }
}

const MESSAGES: readonly [name: string, frame: Buffer][] = [
  ['calls over the rate', encodeFrame(call('now', 1))],
  ['batches of 100 over the rate', encodeFrame(`[${Array(100).fill(call('now', 1)).join()}]`)],
  ['what is no JSON', encodeFrame('{"id":1,')],
  ['pings of the protocol', encodeFrame('', { opcode: 9 })],
]

for (const [name, frame] of MESSAGES)
  t.test(`${name} on many sockets cost their access a pause`, async t => {
    const edge = await openEdge(t)
    const startMs = performance.now()
    const { answers } = await flood(edge, frame, 300_000)
    await sleep(10 * socketPauseMs)
    const pauses = Math.ceil((performance.now() - startMs) / socketPauseMs) + 1
    // The last read of each pause is handled to its end, and each socket gets a ping in it.
    const perPause = socketRefusedMax + Math.ceil(READ_BYTES / frame.length) + 16 + SOCKETS
    t.ok(answers() > 0 && answers() <= pauses * perPause, `${answers()} in ${pauses} pauses`)
  })

t.test('long refused messages cost a pause sooner', async t => {
  const edge = await openEdge(t)
  const client = await edge.connect()
  const long = encodeFrame(call('now', 1, 'a'.repeat(60 * 1024)))
  // Each counts 16 times, and the last read before the pause may hold two.
  const answersMax = socketRefusedMax / 16 + 3
  client.socket.write(Buffer.concat(Array<Buffer>(4 * answersMax).fill(long)))
  await eventually(() => client.opcodes.length >= socketRefusedMax / 16)
  await sleep(socketPauseMs / 2)
  const answers = client.opcodes.length
  t.ok(answers <= answersMax, `${answers}`)
})

t.test('an access over several edges has at each no more than this', async t => {
  const frame = encodeFrame(call('now', 1))
  const startMs = performance.now()
  for (let nth = 0; nth < 2; nth++)
    await t.test(`edge ${nth}`, async t => {
      const { answers } = await flood(await openEdge(t), frame, 100_000)
      await sleep(5 * socketPauseMs)
      const pauses = Math.ceil((performance.now() - startMs) / socketPauseMs) + 1
      const count = answers()
      t.ok(
        count <= pauses * (socketRefusedMax + READ_BYTES / frame.length + 16 + SOCKETS),
        `${count}`,
      )
    })
})

for (const [name, body] of [
  ['empty fragments', ''],
  ['fragments of one byte', '1'],
] as const)
  t.test(`${name} without end do not delay another access`, async t => {
    const edge = await openEdge(t)
    const begin = encodeFrame('[', { isLast: false })
    const fragment = encodeFrame(body, { opcode: 0, isLast: false })
    const clients = await Promise.all(Array.from({ length: SOCKETS }, () => edge.connect()))
    const copies = Buffer.concat([begin, ...Array<Buffer>(30_000).fill(fragment)])
    for (const { socket } of clients) socket.write(copies)
    await sleep(3 * socketPauseMs)
    const measure = async (): Promise<number> => {
      const before = process.cpuUsage()
      await sleep(5 * socketPauseMs)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    const usedMs = await quietest(250, measure)
    t.ok(usedMs <= 250, `${usedMs} ms of the processor in 500 ms`)
  })

t.test('an access that flooded and left is gone at once', async t => {
  const edge = await openEdge(t)
  // Without an answer there is no failed write by which its end would be noticed.
  const ping = encodeFrame('{"jsonrpc":"2.0","method":"ping"}')
  const { clients } = await flood(edge, ping, 1_000_000)
  await eventually(() => edge.load().sockets === SOCKETS)
  await sleep(2 * socketPauseMs)
  const startMs = performance.now()
  for (const { socket } of clients) socket.end()
  for (const client of clients) client.destroy()
  await eventually(() => edge.load().sockets === 0 && edge.server.stats().sockets === 0)
  const tookMs = performance.now() - startMs
  t.ok(tookMs < (isSoak ? 20 : 100) * socketPauseMs, `${Math.round(tookMs)} ms`)
  const again = await edge.connect()
  t.match(await again.call('now'), { result: true }, 'and what it sent counts no more')
})

t.test('a batch over the burst is refused by one error, which counts', async t => {
  const edge = await openEdge(t, 50)
  const client = await edge.connect()
  const batch = `[${Array(100).fill(call('now', 1)).join()}]`
  client.send(batch)
  t.match(JSON.parse(await client.next()), { error: { code: -32005 }, id: null })
})
