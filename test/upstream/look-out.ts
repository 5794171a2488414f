import { performance } from 'node:perf_hooks'
import t from 'tap'
import { LookOut } from '../../src/upstream/look-out.js'
import { defaults } from '../../src/upstream/options.js'
import { openUpstream } from '../../src/upstream/client.js'
import { createLog } from '../../src/shared/log.js'
import { answer, openRawUpstream } from '../fixtures/submission/raw-upstream.js'

/**
 * A look-out on a clock of its own: `turn` is one of the loop, so much later; false where the loop
 * would sleep.
 */
const create = (lookOutMs: number) => {
  const clock = { ms: 100 }
  let next: (() => void) | undefined
  const lookOut = new LookOut({
    lookOutMs,
    now: () => clock.ms,
    nextTurn: look => {
      next = look
    },
  })
  const turn = (ms: number): boolean => {
    clock.ms += ms
    const look = next
    next = undefined
    look?.()
    return next !== undefined
  }
  const begin = (): boolean => {
    lookOut.begin(clock.ms)
    return next !== undefined
  }
  return { clock, lookOut, turn, begin }
}

t.test('the loop stays awake until the answer is here', t => {
  const { lookOut, turn, begin } = create(1)
  t.ok(begin())
  t.ok(turn(0.1))
  t.ok(turn(0.1))
  lookOut.end(0.2)
  t.notOk(turn(0.1), 'it is here')
  t.end()
})

t.test('of several it stays awake for all, but no longer than its bound', t => {
  const { lookOut, turn, begin } = create(1)
  begin()
  begin()
  lookOut.end(0.1)
  t.ok(turn(0.1), 'one is left')
  t.ok(begin(), 'one more')
  t.ok(turn(0.8))
  t.notOk(turn(0.2), 'a millisecond is over')
  t.end()
})

t.test('half of the time it rests', t => {
  const { lookOut, turn, begin } = create(1)
  begin()
  lookOut.end(0.4)
  t.notOk(turn(0.4))
  turn(0.39)
  t.notOk(begin(), 'it has looked out for as long')
  lookOut.end(0.1)
  turn(0.02)
  t.ok(begin())
  t.end()
})

t.test('where answers take longer it sleeps, and wakes again when they do not', t => {
  const { clock, lookOut, turn, begin } = create(1)
  let count = 0
  for (; begin(); count++) {
    while (turn(0.5));
    clock.ms += 30
    lookOut.end(30)
  }
  t.ok(count >= 1 && count < 4, `${count} were looked out for`)
  lookOut.end(30)
  // What did not go out says nothing of answers.
  for (count = 0; count < 1_000 && !begin(); count++) lookOut.drop()
  t.equal(count, 1_000)
  for (count = 0; !begin() && count < 1_000; count++) lookOut.end(0.2)
  t.ok(count > 8 && count < 100, `${count} quick ones`)
  t.end()
})

t.test('without a bound there is nothing to look out for', t => {
  const { lookOut, begin } = create(0)
  t.notOk(begin())
  lookOut.end(0)
  t.notOk(begin())
  t.end()
})

t.test('an event loop that looks out does not sleep, one that does not does', async t => {
  const raw = await openRawUpstream(
    t,
    socket => void setTimeout(() => socket.write(answer('{}')), 60),
  )
  const busyShare = async (lookOutMicros: number): Promise<number> => {
    const upstream = await openUpstream(
      { ...defaults, pingPath: '', urls: [raw.url], lookOutMicros },
      { log: createLog('test', () => {}), now: () => performance.now() },
    )
    const send = () =>
      upstream.send({ method: 'POST', path: '/', headers: {}, body: Buffer.from('{}') })
    await send()
    await new Promise(resolve => setTimeout(resolve, 100))
    const before = performance.eventLoopUtilization()
    await send()
    const { utilization } = performance.eventLoopUtilization(before)
    await upstream.close()
    return utilization
  }
  const [asleep, awake] = [await busyShare(0), await busyShare(100_000)]
  t.ok(awake > 2 * asleep && awake > 0.5, `busy ${asleep} and ${awake} of the time`)
})
