import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import net, { type AddressInfo, type Socket } from 'node:net'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { readStatus } from '../../../src/storage/status-file.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { serveArchives } from '../../fixtures/ingest/archive-server.js'
import { runToEnd } from '../../fixtures/processes/deployment.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { recordChain } from '../../fixtures/ingest/snapshot-archive.js'
import { until } from '../../fixtures/until.js'

/** A proxy of the same server whose connections the test can cut. */
const openWay = async (t: Test, port: number) => {
  const sockets = new Set<Socket>()
  const server = net.createServer(socket => {
    const onward = net.connect(port, '127.0.0.1')
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {}).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(cut)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut }
}

t.test('a bootstrap continues with the next server when the first one fails', async t => {
  const chain = await startSandboxChain({
    slotMs: 60,
    trafficPerSecond: 50,
  })
  t.teardown(() => chain.close())
  const record = await recordChain(chain)
  t.teardown(() => record.close())
  const way = await openWay(t, Number(new URL(chain.geyserUrl).port))
  const shortTimeouts = {
    failuresMax: 2,
    backoffInitialMs: 10,
    backoffMaxMs: 20,
    backoffLongMs: 50,
  }
  const prepared = await prepareServe(
    t,
    { one: { endpoint: way.url, ...shortTimeouts, fallbacks: [{ endpoint: chain.geyserUrl }] } },
    {
      processes: { edgeCount: 1 },
      bootstrap: { pollMs: 50, firstBlockMs: 10_000, snapshotPollMs: 100, replayStallMs: 5_000 },
      status: { writeMs: 50, staleMs: 5_000 },
    },
  )
  const stores = join(prepared.dataDir, 'accounts', 'one')
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  const files = await serveArchives(t)
  files.serve(archives)
  await until('the chain has some slots', () => chain.chain.tip.slot > 5)
  const early = basename(await record.writeFull(archives, 2))
  const name = 'snapshot.tar.bz2'
  files.redirects.set(name, early)
  const service = await prepared.start()
  const scope = ['--config', prepared.configFile, '--network', 'one']
  const loading = runToEnd(t, ['snapshot', 'load', `${files.url}/${name}`, ...scope])
  const step = () => readStatus(stores)?.bootstrap?.step
  await until('it waits for a newer snapshot', () => step() === 'load')
  way.cut()
  await until('the live feed has switched its source', () =>
    /switching to source 2/.test(service.output()),
  )
  const { slot } = chain.chain.tip
  await until('the chain continues', () => chain.chain.tip.slot > slot + 10)
  // Only the second server sends later slots.
  const late = chain.chain.tip.slot
  files.redirects.set(name, basename(await record.writeFull(archives, late)))
  const loaded = await loading
  t.equal(loaded.code, 0, loaded.output)
  t.match(readStatus(stores)?.bootstrap, { step: 'live', state: 'done', attempts: 1 })
  await until(
    'the new store follows the chain',
    () => (readStatus(stores)?.tip?.slot ?? 0) > late + 20,
  )
  t.equal(await service.stop(), 0)
  t.equal((await runToEnd(t, ['verify', ...scope])).code, 0)
})
