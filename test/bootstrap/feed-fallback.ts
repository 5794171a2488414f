import t from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { runToEnd } from '../fixtures/processes/deployment.js'
import { injectFeedFault } from '../fixtures/ingest/feed-harness.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

t.test('a service switches to the next server, logs it, and prints no secrets', async t => {
  const first = await startSandboxChain({ slotMs: 0 })
  t.teardown(() => first.close())
  const feed = {
    endpoint: `${first.geyserUrl}/key-qzx11`,
    xToken: 'canary-qzx12',
    startSlot: 1,
    failuresMax: 2,
    backoffInitialMs: 10,
    backoffMaxMs: 20,
    backoffLongMs: 50,
    gapAttemptsMax: 1,
    fallbacks: [
      // No server listens there.
      { endpoint: 'http://127.0.0.1:9/key-qzx13', xToken: 'canary-qzx14' },
      { endpoint: first.geyserUrl },
    ],
  }
  const prepared = await prepareServe(
    t,
    { one: feed },
    {
      processes: { edgeCount: 1 },
      status: { writeMs: 50, staleMs: 2_000 },
    },
  )
  const service = await prepared.start()
  const status = async () => {
    const { output } = await runToEnd(t, ['status', '--config', prepared.configFile, '--json'])
    t.notMatch(output, /qzx1\d/, 'no path and no token')
    return JSON.parse(output).networks[0]
  }
  await until('the first source is healthy', async () => (await status()).isHealthy)
  t.match(await status(), { tipSlot: 1, source: first.geyserUrl, repair: null })

  // The first subscription and its two successors are closed; later ones are served.
  await injectFeedFault(first.geyserUrl, {
    fault: 'refuse',
    code: 13,
    details: 'catching up',
    times: 2,
  })
  await injectFeedFault(first.geyserUrl, { fault: 'drop', code: 13, details: 'catching up' })
  first.chain.tick()
  // The block is committed before its source counts as healthy.
  await until('the last source brings the block', async () => {
    const { isHealthy, tipSlot } = await status()
    return isHealthy && tipSlot === 2
  })
  t.match(await status(), { isHealthy: true, repair: null })
  const metrics = await (await fetch(prepared.metricsUrl)).text()
  t.match(metrics, /slotline_feed_source\{[^}]*network="one"[^}]*\} 2\n/)
  t.match(metrics, /slotline_repairs_total\{[^}]*step="replay"[^}]*\} [1-9]/)
  t.match(metrics, /slotline_repairs_total\{[^}]*step="source"[^}]*\} 2\n/)
  t.match(service.output(), /repair: replaying after the tip, because [^"]*catching up/)
  t.match(service.output(), /repair: switching to source 2 of 3, because /)
  t.match(service.output(), /repair: switching to source 3 of 3, because /)
  t.notMatch(service.output(), /qzx1\d/)
  t.equal(await service.stop(), 0)
})

soakTest('the status shows a replay with its reason, and its end', {}, async t => {
  const { chain, close, geyserUrl: endpoint } = await startSandboxChain({ slotMs: 0 })
  t.teardown(close)
  // Frequent enough that the feed always counts as healthy.
  const patient = { failuresMax: 1_000, backoffInitialMs: 10, backoffMaxMs: 50 }
  const prepared = await prepareServe(
    t,
    { one: { endpoint, startSlot: 1, ...patient } },
    { processes: { edgeCount: 1 }, status: { writeMs: 50, staleMs: 2_000 } },
  )
  const service = await prepared.start()
  const status = () => runToEnd(t, ['status', '--config', prepared.configFile])
  await until('the network is healthy', async () => (await status()).code === 0)
  const refusal = { fault: 'refuse', code: 13, details: 'catching up' }
  await injectFeedFault(endpoint, { ...refusal, times: 1_000_000 })
  await injectFeedFault(endpoint, { fault: 'drop', code: 13, details: 'catching up' })
  let seen = await status()
  await until('the repair is reported', async () =>
    (seen = await status()).output.includes('  repair  '),
  )
  t.match(seen.output, /^network one: healthy\n/)
  t.match(
    seen.output,
    /^ {2}repair {5}replay: the feed ended the stream \(Internal\): catching up$/m,
  )
  await injectFeedFault(endpoint, { ...refusal, times: 0 })
  chain.tick()
  await until('it is over', async () => (seen = await status()).output.includes('slot 2,'))
  t.notMatch(seen.output, 'repair')
  t.equal(await service.stop(), 0)
})
