import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readStatus } from '../../../src/storage/status-file.js'
import {
  pauseAt,
  indexerOf,
  openBootstrapHarness,
  PAUSE_POINTS,
  resumeAll,
} from '../../fixtures/ingest/bootstrap-harness.js'
import { examineStore } from '../../fixtures/sandbox/chain-state.js'
import { until } from '../../fixtures/until.js'

t.test('kill -9 at each step of a bootstrap', async t => {
  const harness = await openBootstrapHarness(t)
  const { chain, checkState, prepared, pauseChain, statusOf, storesOf, tick } = harness
  let service = await prepared.start()
  const generations = { snapshot: 1, rpc: 1 }

  for (const [kind, step] of PAUSE_POINTS)
    await t.test(`${kind}, ${step}`, async t => {
      const { loading } = await pauseAt(harness, kind, step)
      process.kill(indexerOf(harness, service, kind), 'SIGKILL')
      resumeAll(harness)
      const { code, output } = await loading
      t.equal(code, 0, output)
      t.match(statusOf(kind), { kind, step: 'live', state: 'done', attempts: 2 })
      pauseChain()
      generations[kind] += 1
      await checkState(t, kind, String(generations[kind]))
    })

  for (const kind of ['snapshot', 'rpc'] as const)
    await t.test(`${kind}, store is live but completion is not recorded`, async t => {
      const stores = storesOf(kind)
      const before = String(generations[kind])
      const left = join(prepared.dataDir, '..', `left-${kind}`)
      const { loading } = await pauseAt(harness, kind, 'replay')
      const state = readFileSync(join(stores, 'bootstrap.json'), 'utf8')
      t.match(state, /"step":"replay"/)
      cpSync(join(stores, 'bootstrap'), left, { recursive: true })
      resumeAll(harness)
      t.equal((await loading).code, 0)
      pauseChain()
      t.equal(await service.stop(), 0)
      // State after a kill between the rename of the store and the record of completion.
      writeFileSync(join(stores, 'bootstrap.json'), state)
      cpSync(left, join(stores, 'bootstrap'), { recursive: true })
      mkdirSync(join(stores, before))
      for (let slots = 3; slots > 0; slots -= 1) tick()
      service = await prepared.start()
      await until('it is settled', () => statusOf(kind)?.state === 'done')
      generations[kind] += 1
      await checkState(t, kind, String(generations[kind]))
      t.equal(readStatus(stores)?.generation, String(generations[kind]))
    })

  t.equal(await service.stop(), 0)
  for (const kind of ['snapshot', 'rpc']) {
    const { differences, tip } = examineStore(prepared, kind)
    t.strictSame(differences, [], 'every index equals a recomputation')
    t.match(tip, { slot: chain.tip.slot, blockhash: chain.tip.blockhash })
  }
})
