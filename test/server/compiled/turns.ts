import { setImmediate as untilChecked, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { measureTurns } from '../../../src/server/compiled/turns.js'
import type { Route } from '../../../src/shared/http.js'
import type { SocketRoute } from '../../../src/shared/socket.js'
import { countTurns, TURN_MS_MAX } from '../../fixtures/count-turns.js'
import { startAttack } from '../../fixtures/attacks/attack.js'
import { quietest } from '../../fixtures/quietest.js'
import { connect, openTestServer, post, replyCount, text } from '../../fixtures/server/server.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const FLOOD_MS = isSoak ? 500 : 250
const WARM_UP_MS = 300
/** Connections of a flood, what each sends, and what a request of it takes. */
const FLOODING = 32
const FLOOD_REQUESTS = 400
const FLOOD_BYTES = 8 * 1024
const FLOOD_WORK_MS = 0.3
/** A read that takes so long waits behind others. */
const EXPENSIVE_MS = 0.3
const WAITED_TURNS_MAX = 6

const take = measureTurns(Float64Array.of(0.005))

const DROP: SocketRoute = {
  pattern: '/:token',
  frameBytesMax: 64 * 1024,
  open: () => ({}),
  onOpen: () => {},
  onMessage: (_context, socket) => void socket.send('{}'),
  onClose: () => {},
}

const FLOODS = [
  'pipelined unknown paths',
  'chunks of one byte',
  'messages of one byte',
  'fragments of one byte',
]

t.test('no turn of the event loop is long, whatever clients send', async t => {
  for (const name of FLOODS)
    await t.test(name, async t => {
      const { port, server } = await openTestServer(t, [{ bodyBytesMax: 1024 ** 2 }], {
        sockets: [DROP],
      })
      const other = await connect(port)
      const stop = startAttack({ name, target: { port, token: 'a', samples: {} } })
      t.teardown(stop)
      await until('it has begun', () => {
        const { connections, sockets } = server.stats()
        return connections > 1 || sockets > 0
      })
      await sleep(WARM_UP_MS)
      take?.()
      let answers = 0
      for (const endMs = performance.now() + FLOOD_MS; performance.now() < endMs; answers++) {
        other.socket.write(post('/b', '1'))
        await other.until(received => replyCount(received) > answers)
      }
      const { longestCpuSeconds = NaN, longestSeconds = NaN } = take?.() ?? {}
      const longestMs = longestCpuSeconds * 1_000
      t.ok(longestMs <= TURN_MS_MAX, `a turn of ${longestMs.toFixed(1)} ms`)
      t.comment(`${(longestSeconds * 1_000).toFixed(1)} ms in all, ${answers} answers to another`)
      t.ok(answers > 0, 'another client is answered meanwhile')
    })
})

/** Uses the processor for so long. */
const work = (ms: number): void => {
  for (const endMs = performance.now() + ms; performance.now() < endMs;);
}

t.test('several expensive sockets are read in a turn', async t => {
  const turnOf = countTurns(t)
  let flooded = 0
  let answeredAt = 0
  const route: Partial<Route> = {
    bodyBytesMax: FLOOD_BYTES,
    handle: path => {
      if (path === '/flood') flooded++
      else answeredAt = turnOf()
      work(path === '/flood' ? FLOOD_WORK_MS : EXPENSIVE_MS)
      return text('done')
    },
  }
  const { port } = await openTestServer(t, [route])
  // So much at once that its sockets can be read in every turn.
  const flood = post('/flood', 'a'.repeat(FLOOD_BYTES)).repeat(FLOOD_REQUESTS)
  const floods = await Promise.all(Array.from({ length: FLOODING }, () => connect(port)))
  for (const { socket } of floods) socket.write(flood)
  await until('it has begun', () => flooded > 0)
  const other = await connect(port)
  t.teardown(() => {
    for (const { socket } of [...floods, other]) socket.destroy()
  })
  let answers = 0
  const measure = async (): Promise<number> => {
    const waited: number[] = []
    for (let nth = 0; nth < 20; nth++) {
      // At another position in the queue each time.
      for (let turn = 0; turn < nth % 5; turn++) await untilChecked()
      const askedAt = turnOf()
      other.socket.write(post('/other', '1'))
      await other.until(received => replyCount(received) > answers)
      answers++
      waited.push(answeredAt - askedAt)
    }
    t.ok(flooded < FLOODING * FLOOD_REQUESTS, 'beside all of the flood')
    t.comment(`turns: ${waited.join(' ')}`)
    return waited.toSorted((a, b) => a - b)[waited.length / 2] ?? NaN
  }
  const median = await quietest(WAITED_TURNS_MAX, measure)
  t.ok(median <= WAITED_TURNS_MAX, `${median} turns`)
})

t.test('turns are counted by bucket', async t => {
  take?.()
  const startMs = performance.now()
  const { user, system } = process.cpuUsage()
  // Other threads of the process use processor time too.
  for (let microseconds = 0; microseconds < 20_000 || performance.now() - startMs < 20;) {
    const used = process.cpuUsage()
    microseconds = used.user + used.system - user - system
  }
  // The first may be of this turn. A timer may, too: it is overdue.
  await untilChecked()
  await untilChecked()
  const { cells = [], longestSeconds = 0, longestCpuSeconds = 0 } = take?.() ?? {}
  t.equal(cells.length, 3)
  t.equal(cells[1], 1, 'one turn of more than 5 ms')
  t.ok((cells[2] ?? 0) >= 0.019 && longestSeconds >= 0.019, `${longestSeconds}`)
  t.ok(longestCpuSeconds > 0.01 && longestCpuSeconds <= longestSeconds, `${longestCpuSeconds}`)
  const { cells: next = [] } = take?.() ?? {}
  t.equal(next[1], 0, 'since the last time')
})
