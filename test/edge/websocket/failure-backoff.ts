import t from 'tap'
import { defaults } from '../../../src/config/sections/process-options.js'
import { FailureBackoff } from '../../../src/edge/websocket/failure-backoff.js'
import { createFakeTimers } from '../../fixtures/fake-timers.js'

const create = (options: Partial<typeof defaults> = {}) => {
  const timers = createFakeTimers()
  const backoff = new FailureBackoff({ ...defaults, ...options }, timers)
  const sent: number[] = []
  let count = 0
  /** Delay of the answer in milliseconds; 0 is at once. */
  const fail = (): number => {
    const nth = count++
    const before = sent.length
    backoff.delay(() => sent.push(nth))
    return sent.length > before ? 0 : timers.next()
  }
  return { timers, backoff, sent, fail }
}

/** Fails again as soon as the last failure is answered, as web3.js does. */
const repeat = async (
  { timers, fail }: ReturnType<typeof create>,
  times: number,
): Promise<number[]> => {
  const waits: number[] = []
  for (let i = 0; i < times; i++) {
    const waitMs = fail()
    waits.push(waitMs)
    if (waitMs > 0) await timers.pass(waitMs)
  }
  return waits
}

t.test('repeated failures are answered later and later', async t => {
  const one = create()
  const waits = await repeat(one, 10)
  const longest = [0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000]
  for (const [nth, waitMs] of waits.entries()) {
    const max = longest[nth] ?? 0
    t.ok(waitMs >= max / 2 && waitMs <= max, `${nth}: ${waitMs} ms`)
  }
  t.equal(one.sent.length, 10)
})

t.test('what failed together is not answered together', async t => {
  const one = create()
  for (let nth = 0; nth < 120; nth++) one.fail()
  await one.timers.pass(2_500)
  const perStep: number[] = []
  for (let step = 0; step < 10; step++) {
    const before = one.sent.length
    await one.timers.pass(250)
    perStep.push(one.sent.length - before)
  }
  t.equal(one.sent.length, 120)
  t.ok(Math.max(...perStep) < 20, perStep.join())
})

t.test('one mistake repeated for an hour is answered less than once a second', async t => {
  const one = create()
  let calls = 0
  while (one.timers.now() < 3_600_000) {
    await repeat(one, 1)
    // A client needs a moment, too.
    await one.timers.pass(1)
    calls++
  }
  t.ok(calls < 3_600, `${calls} calls`)
})

t.test('a success resets the delay', async t => {
  const one = create()
  await repeat(one, 6)
  one.backoff.reset()
  const [first, second, third, fourth] = await repeat(one, 4)
  t.strictSame([first, second, third], [0, 0, 0])
  t.ok(Number(fourth) >= 50 && Number(fourth) <= 100)
})

t.test('failures halve with time', async t => {
  const one = create()
  await repeat(one, 8)
  await one.timers.pass(defaults.socketFailuresHalveMs * 2)
  const [first, second, third] = await repeat(one, 3)
  t.equal(first, 0)
  t.ok(Number(second) <= 100 && Number(third) <= 200)
})

t.test('at the bound of delayed answers the oldest is sent', async t => {
  const { sent, fail, timers } = create({ socketFailuresWaitingMax: 4 })
  for (let i = 0; i < 3 + 4; i++) fail()
  t.strictSame(sent, [0, 1, 2])
  fail()
  fail()
  t.strictSame(sent, [0, 1, 2, 3, 4])
  t.equal(timers.waiting(), 4)
  await timers.pass(5_000)
  t.strictSame(sent, [0, 1, 2, 3, 4, 5, 6, 7, 8], 'each once')
})

t.test('a close drops the delayed answers', async t => {
  const { sent, fail, timers, backoff } = create()
  for (let i = 0; i < 8; i++) fail()
  backoff.close()
  t.equal(timers.waiting(), 0)
  await timers.pass(5_000)
  t.strictSame(sent, [0, 1, 2])
})
