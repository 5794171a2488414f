import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readStatus } from '../../../src/storage/status-file.js'
import {
  pauseAt,
  indexerOf,
  openBootstrapHarness,
  PAUSE_POINTS,
  resumeAll,
  type Kind,
  type Step,
} from '../../fixtures/ingest/bootstrap-harness.js'
import { examineStore } from '../../fixtures/sandbox/chain-state.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { isSoak, soakSubtest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const STEPS: readonly (readonly [Kind, Step])[] = isSoak ? PAUSE_POINTS : [['snapshot', 'replay']]
const REASON = 'of the wrong cluster'
const NOTHING = (kind: Kind): string => `slotline: no bootstrap of network ${kind} runs\n`

t.test('a bootstrap can be cancelled', async t => {
  const harness = await openBootstrapHarness(t)
  const { checkState, files, remainingIn, prepared, pauseChain, statusOf, storesOf } = harness
  const slotline = (...args: readonly string[]) =>
    runToEnd(t, [...args, '--config', prepared.configFile])
  const cancel = (kind: Kind, ...more: readonly string[]) =>
    slotline('bootstrap', 'cancel', '--network', kind, ...more)
  const shown = async (kind: Kind) => (await slotline('status', '--network', kind)).output
  const pathOf = (kind: Kind, name: string): string => join(storesOf(kind), name)

  t.strictSame(await cancel('snapshot'), { code: 1, output: NOTHING('snapshot') }, 'before any')
  let service = await prepared.start()

  for (const [kind, step] of STEPS)
    await t.test(`${kind}, at step ${step}`, async t => {
      const { loading } = await pauseAt(harness, kind, step)
      t.strictSame(await cancel(kind, '--reason', REASON), {
        code: 0,
        output: `network ${kind}: the bootstrap is cancelled at the step ${step}; the live store is unchanged\n`,
      })
      const { code, output } = await loading
      t.equal(code, 1)
      t.match(output, `has no new store: the bootstrap was cancelled: ${REASON}\n`)
      t.match(statusOf(kind), { kind, step, state: 'cancelled', reason: REASON, attempts: 1 })
      t.match(await shown(kind), `was cancelled at the step ${step}: ${REASON}\n`)
      resumeAll(harness)
      pauseChain()
      await checkState(t, kind, '1')
      t.strictSame(await cancel(kind), { code: 1, output: NOTHING(kind) }, 'only once')
    })

  await t.test('kill -9 before the process reads the request', async t => {
    const { loading } = await pauseAt(harness, 'snapshot', 'load')
    const pid = indexerOf(harness, service, 'snapshot')
    process.kill(pid, 'SIGSTOP')
    const cancelling = cancel('snapshot')
    await until('the request is written', () =>
      existsSync(pathOf('snapshot', 'bootstrap.cancel.json')),
    )
    process.kill(pid, 'SIGKILL')
    // It may have seen the process stopped before it was killed.
    const { code, output } = await cancelling
    t.ok(code === 0 || /cancels the bootstrap when it runs again/.test(output), output)
    await until('it is cancelled', () => statusOf('snapshot')?.state === 'cancelled')
    t.match((await loading).output, 'was cancelled: by `slotline bootstrap cancel`\n')
    t.match(statusOf('snapshot'), { state: 'cancelled', step: 'load', attempts: 1 })
    resumeAll(harness)
    pauseChain()
    await checkState(t, 'snapshot', '1')
  })

  await t.test('the metrics count it as cancelled, not as failed', async t => {
    const metrics = await (await fetch(prepared.metricsUrl)).text()
    const counts = metrics.split('\n').filter(line => line.startsWith('slotline_bootstraps_total'))
    t.ok(counts.some(line => /network="snapshot".*outcome="cancelled"/.test(line)))
    t.notOk(counts.some(line => line.includes('outcome="failed"')))
    t.match(service.output(), `"reason":"${REASON}"`)
    t.match(service.output(), '"msg":"bootstrap is cancelled"')
    t.notMatch(service.output(), 'bootstrap failed')
  })

  const killDuring = async (t: Test): Promise<void> => {
    const { loading } = await pauseAt(harness, 'snapshot', 'load')
    const state = readFileSync(pathOf('snapshot', 'bootstrap.json'), 'utf8')
    t.equal((await cancel('snapshot')).code, 0)
    t.equal((await loading).code, 1)
    t.equal(await service.stop(), 0)
    // State after a kill between the removal of the files and the record of the cancellation.
    const { id } = JSON.parse(state).request
    writeFileSync(pathOf('snapshot', 'bootstrap.json'), state)
    writeFileSync(
      pathOf('snapshot', 'bootstrap.cancel.json'),
      JSON.stringify({ id, reason: REASON }),
    )
    files.setPaused(false)
    service = await prepared.start()
    await until('it is settled', () => statusOf('snapshot')?.state === 'cancelled')
    t.match(statusOf('snapshot'), { reason: REASON, attempts: 1 })
    await checkState(t, 'snapshot', '1')
    // A request to cancel an earlier bootstrap must not cancel the next one.
    writeFileSync(
      pathOf('snapshot', 'bootstrap.cancel.json'),
      JSON.stringify({ id, reason: REASON }),
    )
    const { loading: next } = await pauseAt(harness, 'snapshot', 'replay')
    resumeAll(harness)
    t.equal((await next).code, 0)
    pauseChain()
    await checkState(t, 'snapshot', '2')
  }
  await soakSubtest(t, 'kill -9 during the cancellation', killDuring)
  t.equal(await service.stop(), 0)

  await t.test('without a service', async t => {
    const startPaused = async () => {
      pauseChain()
      files.pending.length = 0
      files.setPaused(true)
      const command = harness.startBootstrap('snapshot')
      await until('it loads', () => files.pending.length > 0)
      await until('the status is running at load', () => {
        const { state, step } = statusOf('snapshot') ?? {}
        return state === 'running' && step === 'load'
      })
      return command
    }
    const live = readStatus(storesOf('snapshot'))?.generation
    if (isSoak) {
      const working = await startPaused()
      t.equal((await cancel('snapshot')).code, 0)
      t.equal(await working.exit, 1)
      t.match(working.output(), 'the bootstrap was cancelled: by `slotline bootstrap cancel`\n')
      t.strictSame(remainingIn('snapshot'), [live])
    }
    const left = await startPaused()
    left.child.kill('SIGKILL')
    await left.exit
    t.equal((await cancel('snapshot', '--reason', REASON)).code, 0)
    t.strictSame(remainingIn('snapshot'), [live])
    t.match(await shown('snapshot'), `was cancelled at the step load: ${REASON}\n`)
    t.strictSame(await cancel('snapshot'), { code: 1, output: NOTHING('snapshot') })
  })

  const wrong: [args: string[], message: string][] = [
    [['--network', 'other'], 'slotline: no network other\n'],
    [['--network', 'rpc', '--reason', 'a\nb'], 'It must be one line of at most 200 characters.'],
  ]
  for (const [args, message] of wrong) {
    const { code, output } = await slotline('bootstrap', 'cancel', ...args)
    t.equal(code, 2)
    t.match(output, message)
  }
  for (const kind of ['snapshot', 'rpc'])
    t.strictSame(examineStore(prepared, kind).differences, [], 'every index is as it was')
})
