import { setTimeout as wait } from 'node:timers/promises'
import { readStatus } from '../../src/storage/status-file.js'
import { openBootstrapHarness } from '../fixtures/ingest/bootstrap-harness.js'
import { examineStore } from '../fixtures/sandbox/chain-state.js'
import { runToEnd } from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const ROUNDS = 40
/** Part of the duration of a bootstrap in which cancels start; some arrive after its end. */
const CANCELLED_PART = 0.9
/** A kill occurs near the cancel. */
const KILL_AROUND_MS = 400

soakTest('cancelled at random instants, with kills at about the same time', {}, async t => {
  const harness = await openBootstrapHarness(t)
  const {
    runBootstrap,
    chain,
    checkState,
    resumeChain,
    remainingIn,
    prepared,
    pauseChain,
    statusOf,
    storesOf,
  } = harness
  const service = await prepared.start()
  const generation = (): string => readStatus(storesOf('snapshot'))?.generation ?? ''
  const kill = async (afterMs: number): Promise<void> => {
    await wait(afterMs)
    const reportedPid = readStatus(storesOf('snapshot'))?.pid
    process.kill(requirePid(service.pidsOf('indexer').find(pid => pid === reportedPid)), 'SIGKILL')
  }
  const ends = new Map<string, number>()
  resumeChain()
  await harness.writeFull()
  const startMs = performance.now()
  t.equal((await runBootstrap('snapshot')).code, 0)
  const cancelledMs = CANCELLED_PART * (performance.now() - startMs)
  for (let round = 1; round <= ROUNDS; round += 1) {
    await harness.writeFull()
    const loading = runBootstrap('snapshot')
    const atMs = Math.floor(Math.random() * cancelledMs)
    const killing =
      round % 2 === 0
        ? kill(Math.max(0, atMs + Math.floor((Math.random() - 0.3) * KILL_AROUND_MS)))
        : Promise.resolve()
    await wait(atMs)
    const args = ['--config', prepared.configFile, '--network', 'snapshot']
    const cancelled = await runToEnd(t, ['bootstrap', 'cancel', ...args])
    const [loaded] = await Promise.all([loading, killing])
    const { state = 'none' } = statusOf('snapshot') ?? {}
    const what = `round ${round}, at ${atMs} ms: ${state}; ${cancelled.output}; ${loaded.output}`
    t.ok(cancelled.code === 0 || cancelled.code === 1, what)
    if (cancelled.code === 0) t.match([state, loaded.code], ['cancelled', 1], what)
    else t.match([state, loaded.code], ['done', 0], what)
    ends.set(state, (ends.get(state) ?? 0) + 1)
    const { slot } = chain.tip
    await until('blocks go on', () => (readStatus(storesOf('snapshot'))?.tip?.slot ?? 0) > slot)
    t.strictSame(remainingIn('snapshot'), [generation()], what)
  }
  pauseChain()
  await checkState(t, 'snapshot', generation())
  t.equal(await service.stop(), 0)
  t.strictSame(examineStore(prepared, 'snapshot').differences, [])
  t.ok((ends.get('cancelled') ?? 0) > 5 && (ends.get('done') ?? 0) > 0, JSON.stringify([...ends]))
})
