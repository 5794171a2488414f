import { readFileSync, writeFileSync } from 'node:fs'
import { parse, stringify } from 'smol-toml'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { childPids, runToEnd } from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { prepareServe, type Prepared } from '../fixtures/processes/serve.js'
import { openFeed } from '../fixtures/sandbox/sandbox.js'
import { isSoak } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

/** A reload and an upgrade each. */
const ROUNDS = isSoak ? 20 : 1
const CLIENTS = 4
const [UNAVAILABLE] = [14]

/**
 * A client that resumes after the last block that it has, as the published ones do: of each block
 * its slot and parent, and the statuses with which its streams ended.
 */
const startClient = (t: Test, { grpcUrl, tokenOf }: Prepared) => {
  const blocks: { slot: number; parent: number }[] = []
  const ends: { code: number; details: string }[] = []
  let feed: ReturnType<typeof openFeed> | undefined
  let isOver = false
  const run = async () => {
    while (!isOver) {
      const last = blocks.at(-1)
      const from = last === undefined ? {} : { fromSlot: String(last.slot + 1) }
      feed = openFeed(grpcUrl, {}, tokenOf('one', 'fra'))
      feed.call.on('data', ({ block }) => {
        if (block) blocks.push({ slot: Number(block.slot), parent: Number(block.parentSlot) })
      })
      feed.ask({ blocks: { all: { includeAccounts: true } }, ...from })
      const { code, details } = await feed.ended()
      if (!isOver) ends.push({ code, details })
      feed.close()
    }
  }
  const running = run()
  const stop = () => {
    isOver = true
    feed?.close()
    return running
  }
  t.teardown(stop)
  return { blocks, ends, stop }
}

t.test('streams resume over reloads and upgrades without a loss', async t => {
  const chain = await startSandboxChain({ slotMs: 100 })
  t.teardown(() => chain.close())
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl, startSlot: 1, transactions: 'full' } },
    { processes: { edgeCount: 1, startMs: 8_000 }, server: { drainMs: 1_000 } },
    { hasGrpc: true },
  )
  const { configFile, dataDir } = prepared
  const service = await prepared.start()
  const clients = Array.from({ length: CLIENTS }, () => startClient(t, prepared))
  const haveMore = (what: string) => {
    const counts = clients.map(({ blocks }) => blocks.length)
    return until(what, () => clients.every(({ blocks }, at) => blocks.length > (counts[at] ?? 0)))
  }
  await haveMore('each client has a block')
  let supervisor = requirePid(service.supervisor.pid)
  const geyserOf = (): number[] => childPids(supervisor, 'slotline geyser')
  for (let round = 0; round < ROUNDS; round++) {
    const [first] = geyserOf()
    const config = parse(readFileSync(configFile, 'utf8')) as Record<string, object>
    config['server'] = { ...config['server'], drainMs: 900 - round }
    writeFileSync(configFile, stringify(config))
    const reloaded = await runToEnd(t, ['reload', '--config', configFile])
    t.equal(reloaded.code, 0, reloaded.output)
    t.match(reloaded.output, /replaced .*geyser/)
    await haveMore('each client goes on after the reload')
    t.notOk(geyserOf().includes(first ?? 0))
    const upgraded = await runToEnd(t, ['upgrade', '--data-dir', dataDir])
    t.equal(upgraded.code, 0, upgraded.output)
    supervisor = Number(/process (\d+) has the service/.exec(upgraded.output)?.[1])
    await haveMore('each client goes on after the upgrade')
  }
  for (const { blocks, ends, stop } of clients) {
    await stop()
    t.equal(ends.length, 2 * ROUNDS, 'each of them ends a stream once')
    for (const { code, details } of ends)
      t.strictSame({ code, details }, { code: UNAVAILABLE, details: 'the server is shutting down' })
    const wrong = blocks.filter(({ parent }, at) => at > 0 && parent !== blocks[at - 1]?.slot)
    t.strictSame(wrong, [], `${blocks.length} blocks, each once and after its parent`)
  }
  process.kill(supervisor, 'SIGTERM')
  await until('the service has ended', () => service.output().includes('every process has ended'))
})
