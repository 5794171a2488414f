import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { defaults, type Options } from '../../src/ingest/bootstrap/options.js'
import { createBootstrapRunner } from '../../src/ingest/bootstrap/runner.js'
import type { Indexer } from '../../src/native/indexer.js'
import { openLog } from '../../src/shared/log.js'
import type { Spool } from '../../src/native/spool.js'
import { ownDir } from '../fixtures/own-dir.js'

/**
 * A bootstrap whose store is at slot 90 when its spool is empty, and a live one whose slot the test
 * says.
 */
const open = (t: Test, given: Partial<Options> = {}) => {
  const slots = { live: 94, made: 90 }
  const done: string[] = []
  const unused = (): never => {
    throw new Error('not asked for')
  }
  const health = () => ({ isHealthy: true }) as const
  const made = {
    tip: () => ({ slot: slots.made }),
    stopFeed: () => done.push('its feed ends'),
    close: () => done.push('it is closed'),
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
  const runner = createBootstrapRunner({
    stores: ownDir(t),
    options: { ...defaults, pollMs: 5, ...given },
    log,
    openSpool: () => spool,
    startFeed: () => ({ health, stop: () => undefined }),
    loading: () => ({
      startSlot: () => Promise.resolve(80),
      load: dir => {
        mkdirSync(dir)
        return Promise.resolve({ slot: 85 })
      },
    }),
    tipSlot: () => slots.live,
    holdLive: isHeld => {
      done.push(isHeld ? 'the live one stands' : 'the live one goes on')
      // Its commit under way.
      if (isHeld) slots.live += 1
    },
    goLive: () => done.push(`it is live at ${slots.made}, after ${slots.live}`),
    onStatus: () => {},
  })
  t.teardown(() => runner.stop())
  return { done, runner, slots }
}

t.test('a new store that is behind the live one waits, so that no slot goes back', async t => {
  const { done, runner, slots } = open(t)
  const running = runner.run({ kind: 'rpc' })
  await sleep(200)
  t.strictSame(done, [], 'it is not as far')
  slots.made = 94
  await sleep(200)
  t.strictSame(done, ['the live one stands'], 'a block came to it meanwhile')
  slots.made = 97
  await running
  t.strictSame(done, ['the live one stands', 'it is live at 97, after 95'])
})

t.test('where it never will be as far, it does not wait for ever', async t => {
  const { done, runner } = open(t, { catchUpMs: 100 })
  await runner.run({ kind: 'rpc' })
  t.strictSame(done, ['it is live at 90, after 94'])
})

t.test('what is ended while it waits leaves the live one as it was', async t => {
  const { done, runner, slots } = open(t)
  const end = new AbortController()
  slots.made = 94
  const running = runner.run({ kind: 'rpc' }, end.signal)
  await sleep(200)
  end.abort(new Error('told to'))
  await t.rejects(running)
  t.strictSame(done, [
    'the live one stands',
    'its feed ends',
    'it is closed',
    'the live one goes on',
  ])
})
