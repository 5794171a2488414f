import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ReplyScheduler } from '../../../src/server/http/reply-scheduler.js'
import { defaults } from '../../../src/server/options.js'
import {
  BackpressureMonitor,
  type MonitoredSocket,
} from '../../../src/server/websocket/backpressure-monitor.js'
import { createLog } from '../../../src/shared/log.js'
import { until } from '../../fixtures/until.js'

const SUBSCRIBERS = 1_000
/** What it takes to look at one socket. */
const LOOK_MS = 0.02
const MIB = 1024 ** 2

/** A monitor of subscribers that take time to look at, on a clock of its own. */
const create = (t: Test, queued: readonly number[]) => {
  let nowMs = 0
  let turn = 0
  const looks = new Map<number, number>()
  const checked: number[] = []
  const scheduler = new ReplyScheduler(defaults, () => nowMs)
  const monitor = new BackpressureMonitor(
    { publish: () => true, numSubscribers: () => SUBSCRIBERS, answeredMessages: () => 0 },
    {
      options: { ...defaults, socketSweepMs: 1 },
      log: createLog('test', () => undefined),
      now: () => nowMs,
      scheduler,
    },
  )
  t.teardown(() => {
    monitor.close()
    scheduler.close()
  })
  const look = (bytes: number): number => {
    nowMs += LOOK_MS
    looks.set(turn, (looks.get(turn) ?? 0) + 1)
    return bytes
  }
  const sockets = Array.from({ length: SUBSCRIBERS }, (_, index): MonitoredSocket => {
    const bytes = queued.includes(index) ? 1 : 0
    return {
      get queuedBytes() {
        return look(bytes)
      },
      get bufferedBytes() {
        return look(bytes)
      },
      queuedBytesMax: MIB,
      progressAtMs: 0,
      terminateAtMs: Infinity,
      isBusy: false,
      close: () => undefined,
      closeOnceIdle: () => undefined,
      check: () => void checked.push(index),
      terminate: () => undefined,
      onDrained: () => undefined,
    }
  })
  for (const socket of sockets) {
    monitor.add(socket)
    monitor.addSubscriber(socket)
  }
  const countTurns = async (): Promise<void> => {
    for (;;) {
      await nextTurn()
      if (isEnded) return
      turn += 1
    }
  }
  let isEnded = false
  const counting = countTurns()
  t.teardown(() => {
    isEnded = true
    return counting
  })
  const looked = (): number => [...looks.values()].reduce((sum, count) => sum + count, 0)
  return { monitor, looks, looked, checked }
}

t.test('a scan of subscribers takes some time of each turn, and finds all that queue', async t => {
  const { monitor, looks, looked, checked } = create(t, [3, 999])
  monitor.publish('topic', Buffer.alloc(1))
  t.equal(looked(), 0, 'not at once')
  await until('both are found and checked', () => checked.includes(3) && checked.includes(999))
  t.ok(looked() >= SUBSCRIBERS)
  const perTurn = defaults.socketTurnMs / LOOK_MS
  t.ok(Math.max(...looks.values()) <= 2 * perTurn + 2, `${Math.max(...looks.values())} in a turn`)
  t.strictSame([...new Set(checked)], [3, 999])
})

t.test('the queues of all sockets are measured over several turns', async t => {
  const all = Array.from({ length: SUBSCRIBERS }, (_, index) => index)
  const { monitor, looks, looked, checked } = create(t, all)
  monitor.publish('topic', Buffer.alloc(1))
  await until('all are measured', () => monitor.stats().socketQueuedBytes === SUBSCRIBERS)
  t.equal(new Set(checked).size, SUBSCRIBERS)
  const measured = looked()
  await until('they are measured again', () => looked() > measured + 2 * SUBSCRIBERS)
  t.equal(monitor.stats().socketQueuedBytes, SUBSCRIBERS)
  // The end of a scan, and the beginning of a sweep, may be in one turn; of a socket two are read.
  const perTurn = defaults.socketTurnMs / LOOK_MS
  t.ok(Math.max(...looks.values()) <= 2 * perTurn + 4, `${Math.max(...looks.values())} in a turn`)
})

t.test('what is measured at once during a sweep is not measured again by it', async t => {
  const all = Array.from({ length: SUBSCRIBERS }, (_, index) => index)
  const { monitor, looked, checked } = create(t, all)
  const bytes = Math.ceil(defaults.socketsQueuedBytesMax / 4 / SUBSCRIBERS)
  monitor.publish('topic', Buffer.alloc(1))
  while (checked.length === 0) await nextTurn()
  t.ok(checked.length < SUBSCRIBERS, 'a sweep is under way')
  const publishMuch = (): void => {
    const before = looked()
    monitor.publish('topic', Buffer.alloc(bytes))
    t.ok(looked() - before >= 2 * SUBSCRIBERS, 'measured at once')
  }
  publishMuch()
  // Not later: the next sweep begins after some milliseconds.
  while (!checked.includes(SUBSCRIBERS - 1)) await nextTurn()
  // It would be below the bound, had the sweep taken off what was measured already.
  publishMuch()
  t.equal(monitor.stats().socketQueuedBytes, SUBSCRIBERS)
})

t.test('nobody is looked at where nothing was published', async t => {
  const { monitor, looked, checked } = create(t, [3])
  for (let turns = 0; turns < 200; turns++) await nextTurn()
  t.equal(looked(), 0)
  t.strictSame(checked, [])
  t.equal(monitor.stats().sockets, SUBSCRIBERS)
})

t.test('what may exceed the bound of all queues is measured at once', async t => {
  const { monitor, looked } = create(t, [5])
  const bytes = Math.ceil(defaults.socketsQueuedBytesMax / 4 / SUBSCRIBERS)
  monitor.publish('topic', Buffer.alloc(bytes / 4))
  t.equal(looked(), 0)
  monitor.publish('topic', Buffer.alloc(bytes / 2))
  t.equal(looked(), 0, 'not while a frame is sent')
  // A scan begins.
  while (looked() === 0) await nextTurn()
  t.ok(looked() < SUBSCRIBERS)
  monitor.publish('topic', Buffer.alloc(bytes))
  const count = looked()
  t.ok(count >= SUBSCRIBERS)
  t.equal(monitor.stats().socketQueuedBytes, 1)
  await nextTurn()
  await nextTurn()
  // Only what queues something is looked at again.
  t.ok(looked() < count + 100, 'the scan that was replaced does not continue')
})
