import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { injectFeedFault, startFeedHarness } from '../../fixtures/ingest/feed-harness.js'
import { until } from '../../fixtures/until.js'

/** A server that accepts connections and sends nothing. */
const openMute = async (t: Test): Promise<string> => {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const BLOCK_SILENCE_MS = 500

t.test('a provider that sends no block is left, whether it answers or not', async t => {
  const { feeds, slots, follow } = await startFeedHarness(t, [{}, {}])
  const [stalled, good] = feeds
  if (stalled === undefined || good === undefined) throw new Error('two feeds')
  const mute = await openMute(t)
  const dir = t.testdir()
  slots(3)
  const options = {
    blockSilenceMs: BLOCK_SILENCE_MS,
    connectTimeoutMs: BLOCK_SILENCE_MS / 2,
    // Only the time counts.
    failuresMax: 1_000,
  }
  const cases: readonly [name: string, endpoint: string, reason: RegExp][] = [
    ['mute', `http://${mute}`, /because no answer to Subscribe for 500 ms \(blockSilenceMs\)/],
    ['unreachable', `https://${mute}`, /because no block for 500 ms .*: no connection to /],
    ['stalled', stalled.url, /because no message for 500 ms \(blockSilenceMs\)/],
  ]
  for (const [name, endpoint, reason] of cases) {
    const sources = [{ endpoint }, { endpoint: good.url }] as const
    const { feed, untilStored, logged, stop } = follow(join(dir, name), { sources, options })
    if (name === 'stalled') {
      await untilStored()
      t.equal(feed.sourceIndex(), 0)
      t.equal(await injectFeedFault(stalled.url, { fault: 'stall', ms: 60_000 }), 200)
    }
    await until(`${name} is left`, () => feed.sourceIndex() === 1)
    t.ok(
      logged.some(text => /switching to source 2 of 2, /.test(text) && reason.test(text)),
      `${name}: ${logged.join('; ')}`,
    )
    slots(1)
    await untilStored()
    stop()
  }
})
