import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createPerformanceCount } from '../../src/sender/performance.js'
import { createLog } from '../../src/shared/log.js'
import { openUsageReader } from '../../src/usage/store.js'
import { scriptPath } from '../fixtures/repository.js'
import { isSoak } from '../fixtures/soak.js'
import { openStores } from '../fixtures/submission/store.js'
import { ACCEPTED } from '../fixtures/submission/submission.js'

const ROUNDS = isSoak ? 200 : 6

t.test('kill -9 of a sender at any instant loses no end and doubles none', async t => {
  const { clock, dir, openStore } = await openStores(t)
  const ask = openUsageReader(dir)
  const landed = async (): Promise<number> => {
    const rows = await ask('lanes', [ACCEPTED.accessId, 'main', '', 0, 1e6, 0])
    return rows.reduce((sum, row) => sum + row.landed, 0)
  }
  let before = 0
  for (let round = 0; round < ROUNDS; round++) {
    const script = scriptPath('test/fixtures/usage/ends')
    const sender = spawn(process.execPath, [script, dir], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => sender.kill('SIGKILL'))
    await once(sender.stdout, 'data')
    sender.stdout.resume()
    await sleep(Math.random() * 60)
    const ended = once(sender, 'exit')
    sender.kill('SIGKILL')
    await ended
    const now = await landed()
    t.ok(now >= before)
    before = now
  }
  clock.ms = Date.now()
  const store = await openStore()
  const log = createLog('test', line => t.fail(line))
  const parts = { config: { dataDir: dir, networks: [] }, store, log, now: () => 0 }
  await createPerformanceCount(parts).count()
  let count = 0
  for await (const { submission } of store.newest(0, 1e6))
    if ((submission.landing?.transactions.length ?? 0) > 0) count++
  t.ok(count > 100, `${count} have landed`)
  t.equal(await landed(), count)
  await store.close()
})
