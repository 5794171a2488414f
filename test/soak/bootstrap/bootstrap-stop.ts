import { mkdirSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { readStatus } from '../../../src/storage/status-file.js'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { serveArchives } from '../../fixtures/ingest/archive-server.js'
import { examineStore } from '../../fixtures/sandbox/chain-state.js'
import { runToEnd, startCommand } from '../../fixtures/processes/deployment.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { recordChain } from '../../fixtures/ingest/snapshot-archive.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

/** Share of the 15 s that a drain may take. */
const STOP_MS = 8_000
const RESUMABLE =
  /^slotline: stopped at load: the same command, or the service at its start, resumes it; slotline bootstrap cancel removes it$/m

t.test('SIGTERM stops a bootstrap', async t => {
  const chain = await startSandboxChain({ slotMs: 40, trafficPerSecond: 50 })
  t.teardown(() => chain.close())
  const record = await recordChain(chain)
  t.teardown(() => record.close())
  const files = await serveArchives(t)
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl } },
    {
      processes: { edgeCount: 1 },
      bootstrap: { pollMs: 30, firstBlockMs: 10_000, snapshotPollMs: 100 },
      status: { writeMs: 30, staleMs: 5_000 },
    },
  )
  const archives = join(prepared.dataDir, '..', 'archives')
  mkdirSync(archives)
  files.serve(archives)
  const full = await record.writeRecent(archives)
  const source = `${files.url}/${basename(full)}`
  const stores = join(prepared.dataDir, 'accounts', 'one')
  const statusOf = () => readStatus(stores)?.bootstrap
  const foldersOf = (): readonly string[] =>
    readdirSync(stores, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(({ name }) => name)
  const load = (from: string) => {
    const args = ['--config', prepared.configFile, '--network', 'one']
    return startCommand(t, ['snapshot', 'load', from, ...args])
  }
  /** A load that waits for its archive. */
  const loadPaused = async () => {
    files.pending.length = 0
    files.setPaused(true)
    const command = load(source)
    await until('the archive is requested', () => files.pending.length > 0)
    await until(
      'the status says so',
      () => statusOf()?.step === 'load' && statusOf()?.state === 'running',
    )
    t.not(statusOf()?.progress?.unit, 'blocks', 'the unit is no longer that of the previous step')
    return command
  }
  const timed = async (what: string, end: Promise<unknown>): Promise<void> => {
    const begunMs = performance.now()
    await end
    t.ok(performance.now() - begunMs < STOP_MS, what)
  }
  const untilDone = (): Promise<void> =>
    until('the store is live', () => statusOf()?.state === 'done')

  const alone = await loadPaused()
  alone.child.kill('SIGTERM')
  await timed('the command ends in time', alone.exit)
  t.equal(await alone.exit, 1)
  t.match(alone.output(), RESUMABLE)
  const shown = await runToEnd(t, ['status', '--config', prepared.configFile])
  t.match(shown.output, /: stopped at load; the next start resumes it$/m)

  // Only files of that bootstrap exist.
  files.setPaused(false)
  let service = await prepared.start()
  await untilDone()
  t.match(statusOf(), { kind: 'snapshot', attempts: 1 }, 'a stop is no failure')
  t.strictSame(foldersOf(), [readStatus(stores)?.generation])

  const none = await runToEnd(t, [
    ...['bootstrap', 'rpc', '--config', prepared.configFile],
    ...['--network', 'one'],
  ])
  t.equal(none.code, 1)
  t.match(none.output, /^slotline: network one has no scope: a bootstrap from an RPC needs/)
  t.match(statusOf(), { kind: 'snapshot', state: 'done' }, 'an impossible bootstrap is not started')

  if (isSoak) {
    const watching = await loadPaused()
    watching.child.kill('SIGINT')
    t.equal(await watching.exit, 1)
    t.match(
      watching.output(),
      /^slotline: the service continues it: see slotline status; slotline bootstrap cancel cancels it$/m,
    )
    t.match(statusOf(), { step: 'load', state: 'running' })
    await timed('the service drains in time', service.stop())
    t.match(service.output(), 'bootstrap stops with its process; the next process resumes it')
    t.notMatch(service.output(), 'bootstrap failed')
    files.setPaused(false)
    service = await prepared.start()
    await untilDone()
    t.match(statusOf(), { attempts: 1 })
    t.strictSame(foldersOf(), [readStatus(stores)?.generation])
  }
  t.equal(await service.stop(), 0)

  const other = await loadPaused()
  other.child.kill('SIGINT')
  t.equal(await other.exit, 1)
  // The previous plan would wait forever.
  const last = load(full)
  t.equal(await last.exit, 0, last.output())
  t.match(statusOf(), { locations: [full], state: 'done', attempts: 1 })
  t.equal(foldersOf().length, 1)
  t.strictSame(examineStore(prepared, 'one').differences, [])
})
