import t from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { runToEnd } from '../fixtures/deployment.js'
import { orderFeed } from '../fixtures/feed-world.js'
import { prepareServe } from '../fixtures/serve.js'
import { until } from '../fixtures/until.js'

t.test('a service turns to the next server, says so, and hides what opens it', async t => {
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
      // Nobody listens there.
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

  // The one subscription is ended, and so are its two successors; whoever comes then is served.
  await orderFeed(first.geyserUrl, { fault: 'refuse', code: 13, details: 'catching up', times: 2 })
  await orderFeed(first.geyserUrl, { fault: 'drop', code: 13, details: 'catching up' })
  first.chain.tick()
  await until('the last source brings the block', async () => (await status()).tipSlot === 2)
  t.match(await status(), { isHealthy: true, repair: null })
  const metrics = await (await fetch(prepared.metricsUrl)).text()
  t.match(metrics, /slotline_feed_source\{[^}]*network="one"[^}]*\} 2\n/)
  t.match(metrics, /slotline_repairs_total\{[^}]*step="source"[^}]*\} 2\n/)
  t.match(service.output(), /repair: turning to source 2 of 3, because /)
  t.match(service.output(), /repair: turning to source 3 of 3, because /)
  t.notMatch(service.output(), /qzx1\d/)
  t.equal(await service.stop(), 0)
})
