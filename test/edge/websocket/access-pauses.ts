import t from 'tap'
import { defaults } from '../../../src/config/sections/process-options.js'
import { AccessPauses } from '../../../src/edge/websocket/access-pauses.js'
import { createFakeTimers } from '../../fixtures/fake-timers.js'

const { socketRefusedMax, socketPauseMs } = defaults

const create = () => {
  const timers = createFakeTimers()
  const pauses = new AccessPauses(defaults, timers)
  const open = (access = 'a') => {
    const state = { isPaused: false, pauses: 0 }
    const socket = {
      pause: () => {
        state.isPaused = true
        state.pauses++
      },
      resume: () => {
        state.isPaused = false
      },
    }
    const pause = pauses.of(access)
    pause.add(socket)
    return {
      state,
      refuse: (count?: number) => pause.refuse(socket, count),
      close: () => pause.remove(socket),
    }
  }
  return { timers, pauses, open }
}

t.test('the refusals of all sockets of an access are counted together', async t => {
  const { timers, open } = create()
  const sockets = Array.from({ length: 32 }, () => open())
  const other = open('b')
  for (let nth = 0; nth < socketRefusedMax - 1; nth++) sockets[nth % 32]?.refuse()
  t.ok(sockets.every(({ state }) => !state.isPaused))
  sockets[0]?.refuse()
  t.ok(sockets.every(({ state }) => state.isPaused))
  t.notOk(other.state.isPaused, 'not another access')
  // What was read already is refused, too.
  for (const socket of sockets) socket.refuse(100)
  await timers.pass(socketPauseMs)
  t.ok(sockets.every(({ state }) => !state.isPaused && state.pauses === 1))
  sockets[0]?.refuse(socketRefusedMax - 1)
  t.notOk(sockets[1]?.state.isPaused)
  await timers.pass(socketPauseMs)
  sockets[0]?.refuse(socketRefusedMax - 1)
  t.notOk(sockets[1]?.state.isPaused, 'only those of one pause count together')
})

t.test('an access does not escape by new sockets', async t => {
  const { timers, pauses, open } = create()
  const first = open()
  first.refuse(socketRefusedMax)
  const second = open()
  t.ok(second.state.isPaused)
  first.close()
  second.close()
  const third = open()
  t.ok(third.state.isPaused)
  third.close()
  await timers.pass(socketPauseMs)
  t.equal(pauses.size, 0)
  // Nor by a new one for each few messages.
  let paused = 0
  for (let nth = 0; nth < 10; nth++) {
    const socket = open()
    socket.refuse(socketRefusedMax / 4)
    if (socket.state.isPaused) paused++
    socket.close()
  }
  t.equal(paused, 7)
  await timers.pass(socketPauseMs)
  t.equal(pauses.size, 0, 'and what has left is not known any more')
  t.equal(timers.waiting(), 0)
})

t.test('of very many sockets some are paused at their next refused message', async t => {
  const { timers, open } = create()
  const sockets = Array.from({ length: 5_000 }, () => open())
  const last = sockets.at(-1)
  last?.refuse(socketRefusedMax)
  const paused = (): number => sockets.filter(({ state }) => state.isPaused).length
  t.equal(paused(), 256)
  t.ok(last?.state.isPaused)
  sockets[1_000]?.refuse()
  t.equal(paused(), 257)
  await timers.pass(socketPauseMs)
  t.equal(paused(), 0)
})

t.test('an access without refusals is forgotten with its last socket', async t => {
  const { timers, pauses, open } = create()
  const [one, other] = [open(), open()]
  one.close()
  t.equal(pauses.size, 1)
  other.close()
  other.close()
  t.equal(pauses.size, 0)
  t.equal(timers.waiting(), 0)
})
