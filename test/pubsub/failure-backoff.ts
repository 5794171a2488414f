import t from 'tap'
import { createFailureBackoff } from '../../src/pubsub/failure-backoff.js'
import { defaults } from '../../src/pubsub/options.js'
import { RpcError } from '../../src/shared/errors.js'
import { createFakeTimers } from '../fixtures/fake-timers.js'

const ERROR = new RpcError('subscriptionId')

const create = () => {
  const timers = createFakeTimers()
  let tooMany = 0
  let refused = 0
  const backoff = createFailureBackoff({
    options: defaults,
    ...timers,
    onTooMany: () => {
      tooMany += 1
    },
  })
  /** Delay of the error in milliseconds; 0 is at once. */
  const fail = (): number => {
    const scheduled = timers.waiting()
    try {
      backoff.fail(ERROR).catch(() => {
        refused += 1
      })
    } catch (error) {
      t.equal(error, ERROR)
      return 0
    }
    return timers.waiting() > scheduled ? timers.next() : Number.NaN
  }
  return { timers, backoff, fail, counts: () => ({ tooMany, refused }) }
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

t.test('repeated failures are delayed longer and longer', async t => {
  const one = create()
  t.strictSame(await repeat(one, 10), [0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000])
  t.strictSame(one.counts(), { tooMany: 0, refused: 7 })
})

t.test('one mistake repeated for an hour is delayed and does not close the socket', async t => {
  const one = create()
  let calls = 0
  while (one.timers.now() < 3_600_000) {
    await repeat(one, 1)
    // A client needs a moment, too.
    await one.timers.pass(1)
    calls += 1
  }
  t.ok(calls < 3_600 * 2, `${calls} calls`)
  t.equal(one.counts().tooMany, 0)
})

t.test('a success resets the delay', async t => {
  const one = create()
  await repeat(one, 6)
  one.backoff.reset()
  t.strictSame(await repeat(one, 4), [0, 0, 0, 100])
})

t.test('failures halve with time', async t => {
  const one = create()
  await repeat(one, 8)
  await one.timers.pass(defaults.failuresHalveMs * 2)
  t.strictSame(await repeat(one, 3), [0, 100, 200])
})

t.test('too many delayed replies close the socket', async t => {
  const one = create()
  for (let i = 0; i < 3 + defaults.failuresWaitingMax; i++) one.fail()
  t.equal(one.counts().tooMany, 0)
  t.equal(one.fail(), 0)
  t.equal(one.counts().tooMany, 1)
})

t.test('too many failures in a row close the socket', async t => {
  const timers = createFakeTimers()
  let tooMany = 0
  const backoff = createFailureBackoff({
    options: { ...defaults, failureWaitMs: 1, failureWaitLongMs: 1 },
    ...timers,
    onTooMany: () => {
      tooMany += 1
    },
  })
  for (let i = 1; i < defaults.failuresMax; i++) {
    try {
      backoff.fail(ERROR).catch(() => {})
    } catch {
      continue
    }
    await timers.pass(1)
  }
  t.equal(tooMany, 0)
  t.throws(() => void backoff.fail(ERROR))
  t.equal(tooMany, 1)
})

t.test('close rejects all delayed calls', async t => {
  const one = create()
  for (let i = 0; i < 8; i++) one.fail()
  one.backoff.close()
  t.equal(one.timers.waiting(), 0)
  await one.timers.pass(0)
  t.equal(one.counts().refused, 5)
})
