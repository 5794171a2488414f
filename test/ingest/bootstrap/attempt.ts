import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { defaults, type Options } from '../../../src/ingest/bootstrap/options.js'
import { BootstrapRunner } from '../../../src/ingest/bootstrap/runner.js'
import type { Indexer } from '../../../src/native/indexer.js'
import { openLog } from '../../../src/shared/log.js'
import type { Spool } from '../../../src/native/spool.js'
import { ownDir } from '../../fixtures/own-dir.js'

/** A bootstrap whose store is at slot 90 after its replay, and a live store at slot 94. */
const open = (t: Test, given: Partial<Options> = {}) => {
  const slots = { live: 94, made: 90 }
  const done: string[] = []
  const unused = (): never => {
    throw new Error('not expected')
  }
  const health = () => ({ isHealthy: true }) as const
  const made = {
    tip: () => ({ slot: slots.made }),
    stopFeed: () => done.push('new feed stopped'),
    close: () => done.push('new store closed'),
  } as unknown as Indexer
  const stats = { first: { slot: 80, parentSlot: 79 }, lastSlot: 90, blocks: 11, bytes: 9 }
  const spool = {
    stats: () => stats,
    replay: () => Promise.resolve({ slot: 90, blocks: 10 }),
    handOver: () => made,
    cancel: unused,
    startFeed: unused,
    stopFeed: unused,
    close: () => undefined,
  } as unknown as Spool
  const { log } = openLog('indexer', { level: 'silent', bufferBytesMax: 999, lineCharsMax: 999 })
  const runner = new BootstrapRunner({
    stores: ownDir(t),
    options: { ...defaults, pollMs: 5, ...given },
    log,
    openSpool: () => spool,
    startFeed: () => ({ health, stop: () => undefined }),
    createLoad: async () => ({
      startSlot: () => Promise.resolve(80),
      load: dir => {
        mkdirSync(dir)
        return Promise.resolve({ slot: 85 })
      },
    }),
    tipSlot: () => slots.live,
    setLiveFeedPaused: isPaused => {
      done.push(isPaused ? 'live feed paused' : 'live feed resumed')
      // The commit in progress.
      if (isPaused) slots.live += 1
    },
    goLive: () => done.push(`live at ${slots.made}, after ${slots.live}`),
    onStatus: () => {},
  })
  t.teardown(() => runner.stop())
  return { done, runner, slots }
}

t.test('a new store behind the live one waits before it replaces it', async t => {
  const { done, runner, slots } = open(t)
  const running = runner.run({ kind: 'rpc' })
  await sleep(200)
  t.strictSame(done, [], 'it is still behind')
  slots.made = 94
  await sleep(200)
  t.strictSame(done, ['live feed paused'], 'another block was committed')
  slots.made = 97
  await running
  t.strictSame(done, ['live feed paused', 'live at 97, after 95'])
})

t.test('a new store that never catches up becomes live after catchUpMs', async t => {
  const { done, runner } = open(t, { catchUpMs: 100 })
  await runner.run({ kind: 'rpc' })
  t.strictSame(done, ['live at 90, after 94'])
})

t.test('a bootstrap that ends while it waits resumes the live feed', async t => {
  const { done, runner, slots } = open(t)
  const end = new AbortController()
  slots.made = 94
  const running = runner.run({ kind: 'rpc' }, end.signal)
  await sleep(200)
  end.abort(new Error('cancelled'))
  await t.rejects(running)
  t.strictSame(done, [
    'live feed paused',
    'new feed stopped',
    'new store closed',
    'live feed resumed',
  ])
})
