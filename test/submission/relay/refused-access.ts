import fc from 'fast-check'
import t from 'tap'
import { EngineOrder } from '../../../src/submission/relay/engine-order.js'
import { EngineQueue, longestWaitMs } from '../../../src/submission/relay/engine-queue.js'
import { defaults } from '../../../src/submission/relay/options.js'
import { createTokenBucket } from '../../../src/submission/relay/token-bucket.js'
import { createFakeTimers } from '../../fixtures/fake-timers.js'

const { queueMs, queuedPerAccessMax, queuedMax, requestsPerSecondMax } = defaults
const INTERVAL_MS = 1_000 / requestsPerSecondMax
/** What `Retry-After: 1` says. */
const RETRY_MS = 1_000
const STEP_MS = 5
/** Long after the start of the machine. */
const START_MS = 1e9

/** The queue of a machine with shipped defaults, on a clock of its own. */
const openMachine = () => {
  const timers = createFakeTimers()
  const { now, setTimer } = timers
  const nowNs = (): bigint => BigInt(Math.round((START_MS + now()) * 1e6))
  const bucket = createTokenBucket(defaults, { words: new BigInt64Array(1), index: 0, nowNs })
  const order = new EngineOrder(() => START_MS + now())
  const queue = new EngineQueue(defaults, { bucket, order, now, setTimer })
  const served: string[] = []
  const enter = async (accessId: string): Promise<boolean> => {
    const isTaken = await queue.enter(accessId)
    if (isTaken) served.push(accessId)
    return isTaken
  }
  return { timers, queue, enter, served }
}

type Machine = ReturnType<typeof openMachine>

/** Sends one bundle after the other, and retries when told. Collects how long each took. */
const createObedient = (
  { timers, enter }: Machine,
  accessId: string,
  pauses: readonly number[],
) => {
  const tookMs: number[] = []
  let [nextMs, begunMs] = [pauses[0] ?? 0, pauses[0] ?? 0]
  let isAsking = false
  const ask = async (): Promise<void> => {
    isAsking = true
    const isTaken = await enter(accessId)
    isAsking = false
    if (isTaken) {
      tookMs.push(timers.now() - begunMs)
      nextMs = begunMs = timers.now() + (pauses[tookMs.length] ?? Infinity)
    } else nextMs = timers.now() + RETRY_MS
  }
  const step = (): void => {
    if (!isAsking && timers.now() >= nextMs) void ask()
  }
  return { tookMs, step, isDone: (): boolean => tookMs.length === pauses.length }
}

/** Runs the clock until all are done; `flood` is called at each step. */
const run = async (
  { timers }: Machine,
  all: readonly ReturnType<typeof createObedient>[],
  flood: (atMs: number) => void,
  limitMs: number,
): Promise<void> => {
  while (!all.every(one => one.isDone()) && timers.now() < limitMs) {
    flood(timers.now())
    for (const { step } of all) step()
    await timers.pass(STEP_MS)
  }
}

const anyPauses = fc.array(fc.integer({ min: 0, max: 2_500 }), { minLength: 2, maxLength: 6 })

t.test('an access that retries when told has its bundle within two intervals', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        pauses: anyPauses,
        /** Between two requests of the flood, and how many come at once. */
        everyMs: fc.constantFrom(5, 20, 50, 145, 400),
        atOnce: fc.integer({ min: 1, max: 100 }),
      }),
      async ({ pauses, everyMs, atOnce }) => {
        const machine = openMachine()
        const obedient = createObedient(machine, 'obedient', pauses)
        const flood = (atMs: number): void => {
          if (atMs % everyMs !== 0) return
          for (let nth = 0; nth < atOnce; nth++) void machine.enter('flood')
        }
        await run(machine, [obedient], flood, 60_000)
        const longestMs = Math.max(...obedient.tookMs)
        if (machine.queue.size > 2 * queuedPerAccessMax) return false
        return obedient.isDone() && longestMs <= 2 * INTERVAL_MS + 4 * STEP_MS
      },
    ),
    { numRuns: 20 },
  )
})

t.test('several that retry when told have theirs in turn', async t => {
  for (const count of [2, 4, 8]) {
    const machine = openMachine()
    const all = Array.from({ length: count }, (_, nth) =>
      createObedient(machine, `obedient ${nth}`, [nth * 170, 0, 300]),
    )
    const flood = (atMs: number): void => {
      if (atMs % 50 === 0) void machine.enter('flood')
    }
    await run(machine, all, flood, 120_000)
    const longestMs = Math.max(...all.flatMap(({ tookMs }) => tookMs))
    t.ok(
      all.every(one => one.isDone()) && longestMs <= (count + 4) * INTERVAL_MS,
      `${longestMs} ms`,
    )
  }
})

t.test('accesses without end, each with its first bundle, keep no other waiting', async t => {
  const machine = openMachine()
  const obedient = createObedient(machine, 'obedient', [100, 500])
  let count = 0
  const flood = (atMs: number): void => {
    if (atMs % 20 === 0) void machine.enter(`one of thousands ${count++}`)
  }
  await run(machine, [obedient], flood, 40_000)
  const longestMs = Math.max(...obedient.tookMs)
  t.ok(obedient.isDone() && longestMs < 13_000, `${longestMs} ms`)
  t.ok(machine.queue.size <= queuedMax)
})

t.test('an access that was refused and never comes back takes no token', async t => {
  const machine = openMachine()
  const flood = (atMs: number): void => {
    if (atMs % 50 === 0) void machine.enter('flood')
    if (atMs % 100 === 0) void machine.enter(`gone ${atMs}`)
  }
  await run(machine, [createObedient(machine, 'never', [Infinity])], flood, 20_000)
  t.ok(machine.served.length >= 20, `${machine.served.length} tokens in 20 s`)
})

t.test('a refused request waits no longer than one interval more', async t => {
  const machine = openMachine()
  t.equal(await machine.enter('a'), true)
  t.equal(await machine.enter('b'), false)
  await machine.timers.pass(10)
  const begunMs = machine.timers.now()
  const waiting = machine.enter('b')
  let isEnded = false
  void waiting.then(() => (isEnded = true))
  while (!isEnded) await machine.timers.pass(STEP_MS)
  t.ok(machine.timers.now() - begunMs <= longestWaitMs({ queueMs, requestsPerSecondMax }))
  t.equal(await waiting, true)
})
