import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { runToEnd } from '../fixtures/processes/deployment.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { until } from '../fixtures/until.js'

/** Nothing listens there. */
const LANE = {
  ...{ id: 'fra', kind: 'jsonrpc', url: 'http://127.0.0.1:1/lane-key-in-path' },
  ...{ credential: 'lane-key-qzx11', pingPath: '/ping', tipFloorLamports: 0 },
}

t.test('status of a network: healthy, without feed, without service', async t => {
  const chain = await startSandboxChain({ slotMs: 0 })
  t.teardown(() => chain.close())
  const endpoint = `${chain.geyserUrl}/api-key-qzx11`
  const prepared = await prepareServe(
    t,
    { one: { endpoint, startSlot: 1 } },
    {
      processes: { edgeCount: 1 },
      status: { writeMs: 50, staleMs: 2_000 },
      networks: [{ id: 'one', feed: { endpoint, startSlot: 1 }, lanes: [LANE] }],
    },
  )
  const status = async (...args: string[]) => {
    const { code, output } = await runToEnd(t, ['status', '--config', prepared.configFile, ...args])
    return { code, output, json: args.includes('--json') ? JSON.parse(output) : undefined }
  }
  const before = await status('--json')
  t.equal(before.code, 1)
  t.match(before.json, {
    isHealthy: false,
    networks: [
      {
        reason: 'no indexer runs',
        tipSlot: null,
        lanes: [{ lane: 'fra', state: 'unknown', sinceMs: null }],
      },
    ],
  })

  const startedMs = performance.now()
  const service = await prepared.start()
  let seen = await status('--json')
  await until('the network is healthy', async () => (seen = await status('--json')).code === 0)
  t.match(seen.json, {
    isHealthy: true,
    networks: [{ network: 'one', isRunning: true, tipSlot: 1, generation: '1', bootstrap: null }],
  })
  const { tipAgeMs } = seen.json.networks[0]
  t.ok(tipAgeMs >= 0 && tipAgeMs <= performance.now() - startedMs, `${tipAgeMs} ms`)
  t.notMatch(seen.output, /qzx11/, 'the path of a feed may be a key')
  t.match(seen.json.networks[0].lanes, [{ lane: 'fra', state: 'down', sinceMs: Number }])
  t.ok(seen.json.networks[0].lanes[0].sinceMs <= Date.now())
  const shown = await status()
  t.equal(shown.code, 0)
  t.match(shown.output, /^network one: healthy\n {2}tip {8}slot 1, \d+ s old \(store 1\)\n/)
  t.match(shown.output, `  feed       ${chain.geyserUrl}\n`)
  t.match(shown.output, /\n {2}lane {7}fra: down for \d+ s\n/)
  t.notMatch(shown.output + seen.output, /lane-key|127\.0\.0\.1:1\b/)

  t.equal(await service.stop(), 0)
  const after = await status()
  t.equal(after.code, 1)
  t.match(after.output, /^network one: not healthy: no indexer runs\n {2}tip {8}slot 1/)
  t.match(after.output, '  lane       fra: unknown\n')
  const other = await status('--network', 'two')
  t.equal(other.code, 2)
  t.match(other.output, 'slotline: no network two\n')

  // A process that no longer writes its status, and a file that cannot be parsed.
  const file = join(prepared.dataDir, 'accounts', 'one', 'status.json')
  const written = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...written, pid: process.pid, atMs: written.atMs - 60_000 }))
  t.match((await status()).output, `process ${process.pid} has not written its status for `)
  writeFileSync(file, '{"pid":1')
  t.match((await status('--json')).json, { networks: [{ reason: 'no indexer runs' }] })
})
