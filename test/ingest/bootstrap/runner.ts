import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { defaults } from '../../../src/ingest/bootstrap/options.js'
import { BootstrapRunner } from '../../../src/ingest/bootstrap/runner.js'
import { openLog } from '../../../src/shared/log.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { until } from '../../fixtures/until.js'

const REQUESTS = 60
/** Another process that writes requests by the same rename, at random times. */
const WRITER = `
const { parentPort, workerData } = require('node:worker_threads')
const { renameSync, writeFileSync } = require('node:fs')
parentPort.on('message', id => {
  const endMs = performance.now() + Math.random() * 3
  while (performance.now() < endMs);
  writeFileSync(workerData + '.new', JSON.stringify({ id, plan: { kind: 'rpc' } }))
  renameSync(workerData + '.new', workerData)
})
`

t.test('no request for a bootstrap is lost', async t => {
  const stores = ownDir(t)
  const { log } = openLog('indexer', {
    level: 'silent',
    bufferBytesMax: 1_000,
    lineCharsMax: 1_000,
  })
  const none = (): never => {
    throw new Error('there is no feed')
  }
  const runner = new BootstrapRunner({
    stores,
    // Most of the time is spent polling.
    options: { ...defaults, pollMs: 1, attemptsMax: 1 },
    log,
    openSpool: none,
    startFeed: none,
    createLoad: none,
    tipSlot: () => null,
    setLiveFeedPaused: none,
    goLive: none,
    onStatus: () => {},
  })
  t.teardown(() => runner.stop())
  runner.watch()
  // The runner's timer does not keep the process alive.
  const clock = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(clock))
  const writer = new Worker(WRITER, {
    eval: true,
    workerData: join(stores, 'bootstrap.request.json'),
  })
  t.teardown(() => writer.terminate())
  await once(writer, 'online')
  for (let count = 1; count <= REQUESTS; count += 1) {
    const id = `request ${count}`
    writer.postMessage(id, [])
    await until(`${id} has run`, () => runner.status()?.id === id, 5_000)
    t.match(runner.status(), { state: 'failed', reason: 'there is no feed' })
  }
})
