import { createServer } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { createClock } from '../fixtures/sandbox.js'

t.test('the clock ends slots, traffic fills them, and close ends both', async t => {
  const sandbox = await startSandboxChain({ slotMs: 5, trafficPerSecond: 400 })
  const { chain } = sandbox
  await new Promise<void>(resolve => {
    let count = 0
    chain.on('transaction', () => ++count === 20 && resolve())
  })
  await new Promise<void>(resolve => chain.on('block', ({ slot }) => slot >= 10 && resolve()))
  await sandbox.close()
  const { slot } = chain
  await new Promise(resolve => setTimeout(resolve, 25))
  t.equal(chain.slot, slot)
})

t.test('the first block is closed when it returns', async t => {
  const sandbox = await startSandboxChain({ slotMs: 0, firstSlot: 5 }, createClock().now)
  t.teardown(() => sandbox.close())
  t.equal(sandbox.chain.tip.slot, 5)
  t.match(sandbox.geyserUrl, /^http:\/\/127\.0\.0\.1:\d+$/)
})

t.test('a port that is taken is an error', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await t.rejects(startSandboxChain({ slotMs: 0, geyser: { port } }), { code: 'EADDRINUSE' })
})

t.test('a bad account folder is named', async t => {
  const accountDir = t.testdir({ 'bad.json': '{' })
  await t.rejects(startSandboxChain({ slotMs: 0, accountDir }), /bad\.json: not JSON/)
})
