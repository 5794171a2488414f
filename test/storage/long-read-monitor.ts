import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startLongReadMonitor, type LongRead } from '../../src/storage/long-read-monitor.js'
import { openLog } from '../../src/shared/log.js'
import { createMetrics } from '../../src/shared/metrics.js'
import { NativeError } from '../../src/native/errors.js'
import type { OpenRead } from '../../src/native/store.js'
import { until } from '../fixtures/until.js'

const CHECK_MS = 5

/** A store whose reads the test sets; the test also controls its clock. */
const watch = (t: { teardown(run: () => void): void; testdir(): string }) => {
  let nowMs = 0
  let commit = 1
  let cleared = 0
  let failure: NativeError | undefined
  const reads: OpenRead[] = []
  const events: LongRead[] = []
  const broken: string[] = []
  const metrics = createMetrics('indexer')
  const { log } = openLog('indexer', {
    level: 'silent',
    bufferBytesMax: 1_000,
    lineCharsMax: 1_000,
  })
  const stop = startLongReadMonitor({
    bounds: { readerSecondsMax: 10, readersCheckMs: CHECK_MS, staleReadersMs: 60_000 },
    network: 'one',
    store: () => ({
      tip: () => {
        if (failure !== undefined) throw failure
        return undefined
      },
      lastCommit: () => commit,
      openReads: () => reads,
      clearStaleReaders: () => (cleared += 1),
      stats: () => ({
        usedBytes: 1,
        mapBytes: 2,
        readers: 3,
        oldestReaderLag: 4,
        accounts: 5,
        shortHolders: 6,
        feedBytes: 7,
        feedSlots: 8,
      }),
    }),
    metrics,
    log,
    onLongRead: read => events.push(read),
    now: () => nowMs,
    onBroken: error => broken.push(error.message),
  })
  t.teardown(stop)
  const ageOf = async (): Promise<number | null | undefined> => {
    const { samples } = await metrics.snapshot()
    return samples.find(({ metric }) => metric === 'storeReaderAge')?.cells[0]
  }
  /** Waits for some checks. */
  const turn = () => sleep(CHECK_MS * 6)
  return {
    ageOf,
    broken,
    reads,
    events,
    turn,
    cleared: () => cleared,
    commit: () => (commit += 1),
    fail: (error: NativeError | undefined) => void (failure = error),
    pass: (ms: number) => void (nowMs += ms),
  }
}

t.test(
  'a read’s age starts with the first commit after it, and is reported once overdue',
  async t => {
    const { ageOf, cleared, commit, pass, reads, events, turn } = watch(t)
    reads.push({ processId: 7, thread: 70, transaction: 1 })
    pass(60_000)
    await turn()
    t.equal(await ageOf(), 0, 'without a commit it keeps nothing')
    commit()
    await turn()
    pass(10_000)
    await turn()
    t.equal(await ageOf(), 10)
    t.strictSame(events, [])
    const before = cleared()
    pass(1)
    await until('the read is reported', () => events.length > 0)
    t.match(events[0], { pid: 7, seconds: 10.001 })
    t.ok(cleared() > before, 'the read may belong to an ended process')

    // The thread reads again: this is another read.
    reads[0] = { processId: 7, thread: 70, transaction: 2 }
    await turn()
    const count = events.length
    commit()
    pass(9_000)
    await turn()
    t.equal(await ageOf(), 0)
    t.equal(events.length, count)
  },
)

t.test('a process is reported once per check, with its oldest read', async t => {
  const { commit, pass, reads, events, turn } = watch(t)
  reads.push({ processId: 7, thread: 70, transaction: 1 })
  commit()
  await turn()
  pass(5_000)
  reads.push({ processId: 7, thread: 71, transaction: 1 })
  reads.push({ processId: 8, thread: 71, transaction: 1 })
  await turn()
  pass(20_000)
  await until('both reads are reported', () => events.length >= 2)
  t.match(events.slice(0, 2), [
    { pid: 7, seconds: 25 },
    { pid: 8, seconds: 20 },
  ])
})

t.test('an unreadable store ends no process; a corrupt one ends its own', async t => {
  const { broken, commit, fail, pass, reads, events, turn } = watch(t)
  fail(new NativeError('storeStopped', 'full'))
  reads.push({ processId: 7, thread: 70, transaction: 1 })
  commit()
  await turn()
  fail(undefined)
  await turn()
  pass(11_000)
  await until('the monitor checks again', () => events.length > 0)
  t.strictSame(broken, [])
  fail(new NativeError('storeBroken', 'MDB_PANIC'))
  await until('the service reports it', () => broken.length > 0)
  t.equal(broken[0], 'MDB_PANIC')
})
