import { createServer } from 'node:net'
import { once } from 'node:events'
import { mock } from 'node:test'
import t from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { createClock } from '../fixtures/sandbox/sandbox.js'

t.test('the clock ends slots, traffic fills them, and close stops both', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const clock = createClock()
  const { chain, close } = await startSandboxChain({ trafficPerSecond: 50 }, clock.now)
  let transferCount = 0
  chain.on('transaction', () => transferCount++)
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20) {
      clock.advance(20)
      mock.timers.tick(20)
    }
  }
  pass(2_000)
  t.equal(chain.slot, 12, 'ten slots of 200 ms after the first block')
  t.equal(transferCount, 100)
  await close()
  pass(2_000)
  t.strictSame([chain.slot, transferCount], [12, 100])
})

t.test('the first block is closed when the chain has started', async t => {
  const sandbox = await startSandboxChain({ slotMs: 0, firstSlot: 5 }, createClock().now)
  t.teardown(() => sandbox.close())
  t.equal(sandbox.chain.tip.slot, 5)
  t.match(sandbox.geyserUrl, /^http:\/\/127\.0\.0\.1:\d+$/)
})

t.test('a port in use is an error', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await t.rejects(startSandboxChain({ slotMs: 0, geyser: { port } }), { code: 'EADDRINUSE' })
})

t.test('the error of an invalid account folder names it', async t => {
  const accountDir = t.testdir({ 'bad.json': '{' })
  await t.rejects(startSandboxChain({ slotMs: 0, accountDir }), /bad\.json: not JSON/)
})
