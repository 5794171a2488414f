import t from 'tap'
import { createDriver } from '../../src/pubsub/driver.js'
import { LoopTurn } from '../../src/shared/event-loop/loop-turn.js'
import { countTurns } from '../fixtures/count-turns.js'
import { createFakeFanout, toPass } from '../fixtures/pubsub/fake-fanout.js'
import { until } from '../fixtures/until.js'

/** An id that ten sockets are subscribed to. */
const HOT = 7

/** Milliseconds of a turn. */
const TURN_MS = 2

const create = (turnFramesMax = 100, onSent: (id: number) => void = () => undefined) => {
  const native = createFakeFanout()
  const clock = { ms: 0 }
  const events: unknown[] = []
  const driver = createDriver({
    fanout: native.fanout,
    *send(id, frame, isLast) {
      events.push([id, Buffer.from(frame).toString(), isLast])
      onSent(id)
      yield id === HOT ? 10 : 1
    },
    onLost: () => events.push('lost'),
    onDamaged: slot => events.push({ damaged: slot }),
    onPass: (frames, bytes) => events.push({ frames, bytes }),
    onFault: fault => events.push(String(fault)),
    turnFramesMax,
    turn: new LoopTurn(TURN_MS, () => clock.ms),
  })
  return { native, driver, events, clock }
}

t.test('frames are delivered in order, and the last of an id is marked', async t => {
  const { native, driver, events } = create()
  driver.advance()
  await native.settle(
    toPass([
      { id: 3, text: '{"a":1}' },
      { id: 1, text: '' },
      { id: 4_294_967_295, text: '{"é":2}', isLast: true },
    ]),
  )
  t.strictSame(events, [
    [3, '{"a":1}', false],
    [1, '', false],
    [4_294_967_295, '{"é":2}', true],
    { frames: 3, bytes: 15 },
  ])
})

t.test('one pass runs at a time, and one more after changes during it', async t => {
  const { native, driver } = create()
  driver.advance()
  t.equal(native.waiting(), 1)
  await native.settle(toPass([]))
  t.equal(native.waiting(), 0)
  for (let i = 0; i < 5; i++) driver.advance()
  t.equal(native.waiting(), 1)
  await native.settle(toPass([]))
  t.equal(native.waiting(), 1)
  await native.settle(toPass([]))
  t.equal(native.waiting(), 0)
})

t.test('an incomplete pass is followed by another', async t => {
  const { native, driver, events } = create()
  driver.advance()
  await native.settle(toPass([{ id: 1, text: 'a' }], { hasMore: true }))
  t.equal(native.waiting(), 1)
  await native.settle(toPass([{ id: 1, text: 'b' }]))
  t.equal(native.waiting(), 0)
  t.equal(events.length, 4)
})

t.test('missed slots are reported in place of incomplete frames', async t => {
  const { native, driver, events } = create()
  driver.advance()
  await native.settle(toPass([{ id: 1, text: 'a' }], { isLost: true, hasMore: true }))
  t.strictSame(events, ['lost'])
  t.equal(native.waiting(), 1)
})

t.test('a failure is retried at the next tip, and a second one is a loss', async t => {
  const { native, driver, events } = create()
  driver.advance()
  driver.advance()
  await native.settle(new Error('disk'))
  t.equal(native.waiting(), 0, 'not at once')
  driver.advance()
  await native.settle(new Error('disk'))
  driver.advance()
  await native.settle(new Error('other'))
  driver.advance()
  await native.settle(toPass([]))
  driver.advance()
  await native.settle(new Error('disk'))
  t.strictSame(events, [
    'Error: disk',
    'lost',
    'Error: other',
    'lost',
    { frames: 0, bytes: 0 },
    'Error: disk',
  ])
})

t.test('exceptions of the fan-out and of listeners are faults', async t => {
  const { native, driver, events } = create()
  native.fanout.close()
  driver.advance()
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame(events, ['Error: closed'])
})

t.test('nothing is delivered after close', async t => {
  const { native, driver, events } = create()
  driver.advance()
  driver.close()
  t.equal(native.isClosed, true)
  await native.settle(toPass([{ id: 1, text: 'a' }], { isLost: true }))
  driver.advance()
  t.equal(native.waiting(), 0)
  t.strictSame(events, [])
  const failing = create()
  failing.driver.advance()
  failing.driver.close()
  await failing.native.settle(new Error('closed'))
  t.strictSame(failing.events, [])
})

t.test('a turn of the event loop sends a bounded number of frames', async t => {
  const turns = countTurns(t)
  const sentIn = new Map<number, number[]>()
  const { native, driver, events } = create(12, id => {
    const ids = sentIn.get(turns()) ?? []
    sentIn.set(turns(), [...ids, id])
  })
  driver.advance()
  await native.settle(toPass([1, HOT, 2, 3, HOT, HOT, 4].map(id => ({ id, text: 'x' }))))
  driver.advance()
  t.equal(native.waiting(), 0, 'the next pass begins after the last frame')
  await until('all are sent', () => events.length === 8)
  // Each turn ends with the frame that reaches the bound.
  t.strictSame([...sentIn.values()], [[1, HOT, 2], [3, HOT, HOT], [4]])
  await until('the next pass begins', () => native.waiting() === 1)
})

t.test('a turn of the event loop sends frames for a bounded time', async t => {
  const turns = countTurns(t)
  const sentIn = new Map<number, number[]>()
  const { native, driver, events, clock } = create(100, id => {
    sentIn.set(turns(), [...(sentIn.get(turns()) ?? []), id])
    clock.ms += id
  })
  driver.advance()
  await native.settle(toPass([1, 1, 1, 5, 1, 0, 1, 0].map(id => ({ id, text: 'x' }))))
  await until('all are sent', () => events.length === 9)
  // The time of a turn begins after its first frame, and ends with the one that uses it up.
  t.strictSame([...sentIn.values()], [[1, 1, 1], [5, 1, 0, 1], [0]])
})

t.test('what is left of a pass is not sent after the driver is closed', async t => {
  const { native, driver, events } = create(1, id => id === 2 && driver.close())
  driver.advance()
  await native.settle(toPass([1, 2, 3].map(id => ({ id, text: 'x' }))))
  await until('the driver is closed', () => native.isClosed)
  const turns = countTurns(t)
  await until('some turns have passed', () => turns() > 5)
  t.equal(events.length, 2)
})
