import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { defaults as processDefaults } from '../../../src/config/sections/process-options.js'
import { defaults as storeDefaults } from '../../../src/native/store-options.js'
import { MIB, openBusyService } from '../../fixtures/processes/busy-service.js'
import { commandLine } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { connect, post } from '../../fixtures/server/server.js'
import { soakTest } from '../../fixtures/soak.js'
import { ownerOfConnection } from '../../fixtures/processes/socket-owner.js'
import { until } from '../../fixtures/until.js'

/** Shorter than the defaults, which the last test uses. */
const READER_SECONDS_MAX = 1
const CHECKS = { readersCheckMs: 200, answerMs: 500 }
const ANSWERED_MS = 1_500
/** Longest time without intervention after the edge was stopped. */
const STOP_MS = 60_000
/** Addresses whose reply exceeds the socket buffers and the pipe of a reply. */
const ADDRESSES = 60_000
/** Pages that blocks may write during the test besides the store: some tens per block. */
const GROWTH_MAX = 256 * MIB

soakTest('an edge stopped during a read is restarted', {}, async t => {
  const service = await openBusyService(
    t,
    { readerSecondsMax: READER_SECONDS_MAX },
    // A client that does not read is disconnected as soon as its read would be reported.
    { processes: { edgeCount: 2, ...CHECKS }, server: { replyStallMs: 60_000 } },
  )
  const { accounts, chain, edgePids, indexerPid, metric, output, poller, prepared } = service
  const indexer = indexerPid()
  const file = join(accounts, 'dev', '1', 'data.mdb')

  // A client that does not read a large reply keeps one read open; its edge stays healthy.
  const { port, pathname } = new URL(prepared.urlOf('dev'))
  const client = await connect(Number(port))
  client.socket.pause()
  const params = [Array.from({ length: ADDRESSES }, () => service.samples['mint'])]
  client.socket.write(
    post(
      pathname,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMultipleAccounts', params }),
    ),
  )
  await until('the read is reported', () => output().includes('a read stays open'))
  const line = output()
    .split('\n')
    .find(line => line.includes('a read stays open'))
  const stopped = requirePid(JSON.parse(line ?? '{}').childPid)
  t.ok(edgePids().includes(stopped))
  t.ok((await metric('slotline_store_reader_seconds')) >= READER_SECONDS_MAX)
  await until(
    'blocks are committed during the read',
    async () => (await metric('slotline_store_reader_lag_transactions')) > 20,
  )
  await sleep(ANSWERED_MS)
  t.ok(edgePids().includes(stopped), 'an edge that answers is not restarted')
  t.notOk(output().includes('restarting its process'))

  const { size } = statSync(file)
  process.kill(stopped, 'SIGSTOP')
  t.teardown(() => {
    try {
      process.kill(stopped, 'SIGKILL')
    } catch {
      // The edge was killed, as this test expects.
    }
  })
  const stoppedMs = performance.now()
  const { slot } = poller
  await until('the edge is restarted', () => output().includes('restarting its process'), STOP_MS)
  const seconds = Math.round((performance.now() - stoppedMs) / 1_000)
  // On its next read the client sees a truncated reply and the end of the connection.
  client.socket.resume()
  await client.closed
  await until('another edge runs', () => edgePids().length === 2 && !edgePids().includes(stopped))
  await until(
    'the read has ended',
    async () => (await metric('slotline_store_reader_seconds')) === 0,
  )
  const restarts = output()
    .split('\n')
    .filter(line => line.includes('restarting its process'))
  t.equal(await metric('slotline_process_stuck_total', 'supervisor'), 1, restarts.join('\n'))
  t.equal(indexerPid(), indexer)
  await until('blocks are still committed', () => poller.slot > slot + 20)
  const grown = statSync(file).size
  t.ok(grown - size < GROWTH_MAX, `the file grew by ${grown - size} bytes in ${seconds} s`)
  const { tip } = chain
  await until('further blocks are committed', () => poller.slot > tip.slot + 50)
  const after = statSync(file).size
  t.ok(after - grown < MIB, `and by ${after - grown} bytes in 50 blocks after it`)
  await service.checkStore()
})

/** The chain of the test is faster than any slot time that a store assumes. */
const SHORTEST_SLOT_MS = 50
const FEED_SLOTS = 512
/** The poller times out after 15 s: a stopped edge must be killed before that. */
const DEFAULT_STOP_MS = 15_000

soakTest('an edge that is stopped for a minute, by the settings of the product', {}, async t => {
  const { restartFirstMs, restartMaxMs, restartReadyMaxMs } = processDefaults
  const service = await openBusyService(
    t,
    { ...storeDefaults, feedMs: FEED_SLOTS * SHORTEST_SLOT_MS },
    { processes: { edgeCount: 2, restartFirstMs, restartMaxMs, restartReadyMaxMs } },
  )
  const { accounts, edgePids, indexerPid, metric, output, poller, prepared } = service
  const indexer = indexerPid()
  const file = join(accounts, 'dev', '1', 'data.mdb')
  // The store keeps changes for a time: until then the file grows anyway.
  await until('the feed is full', () => poller.slot > FEED_SLOTS + 5, 60_000)

  const { port, pathname } = new URL(prepared.urlOf('dev'))
  const client = await connect(Number(port))
  client.socket.pause()
  const params = [Array.from({ length: ADDRESSES }, () => service.samples['mint'])]
  const ask = { jsonrpc: '2.0', id: 1, method: 'getMultipleAccounts', params }
  client.socket.write(post(pathname, JSON.stringify(ask)))
  // Before the client that does not read is disconnected.
  await until(
    'its read is open',
    async () => (await metric('slotline_store_reader_lag_transactions')) > 20,
  )
  const ports = { serverPort: Number(port), clientPort: client.socket.localPort ?? 0 }
  const stopped = requirePid(ownerOfConnection(edgePids(), ports))
  const { size } = statSync(file)
  const stoppedMs = performance.now()
  process.kill(stopped, 'SIGSTOP')
  t.teardown(() => {
    try {
      process.kill(stopped, 'SIGKILL')
    } catch {
      // The edge was killed, as this test expects.
    }
  })
  await until(
    'the edge is restarted',
    () => output().includes('restarting its process'),
    DEFAULT_STOP_MS,
  )
  const seconds = Math.round((performance.now() - stoppedMs) / 1_000)
  t.ok(seconds * 1_000 < DEFAULT_STOP_MS, `after ${seconds} s`)
  client.socket.resume()
  await client.closed
  await until('another edge runs', () => edgePids().length === 2 && !edgePids().includes(stopped))
  await until(
    'the read has ended',
    async () => (await metric('slotline_store_reader_seconds')) === 0,
  )
  t.equal(await metric('slotline_process_stuck_total', 'supervisor'), 1)
  t.equal(indexerPid(), indexer)
  await sleep(Math.max(0, STOP_MS - (performance.now() - stoppedMs)))
  const grown = statSync(file).size
  t.ok(grown - size < GROWTH_MAX, `the file grew by ${grown - size} bytes`)
  const { slot } = poller
  await until('further blocks are committed', () => poller.slot > slot + 50)
  const after = statSync(file).size
  t.ok(after - grown < MIB, `and by ${after - grown} bytes in 50 blocks after it`)
  await service.checkStore()
})

const COPY_STOP_MS = 60_000
/** Pages that one block of that chain writes: about one per changed row, and their parent pages. */
const BLOCK_PAGES_MAX = 150
const PAGE_BYTES = 4_096

soakTest('a command that is stopped for a minute in the middle of a read', {}, async t => {
  const service = await openBusyService(t, { readerSecondsMax: 10 })
  const { accounts, metric, output, poller, prepared } = service
  const file = join(accounts, 'dev', '1', 'data.mdb')
  const dir = join(prepared.dataDir, '..', 'backups')
  mkdirSync(dir)
  const target = join(dir, 'copy')
  const draft = join(dir, '.copy.unfinished', 'data.mdb')
  const args = ['--config', prepared.configFile, '--network', 'dev', '--to', target]
  /** A backup that is stopped with its read open; undefined if it had already ended. */
  const stopOne = async () => {
    rmSync(target, { recursive: true, force: true })
    const [command, words] = commandLine('backup', ...args)
    const child = spawn(command, words, { stdio: 'ignore' })
    t.teardown(() => child.kill('SIGKILL'))
    const ended = new Promise<number | null>(resolve => child.once('close', resolve))
    const endMs = performance.now() + 20_000
    while (!existsSync(draft) && performance.now() < endMs) await turn()
    child.kill('SIGSTOP')
    await sleep(500)
    if ((await metric('slotline_store_reader_lag_transactions')) > 5) return { child, ended }
    child.kill('SIGCONT')
    await ended
    return undefined
  }
  let stopped: Awaited<ReturnType<typeof stopOne>>
  await until(
    'the backup is stopped within its read',
    async () => (stopped = await stopOne()) !== undefined,
    60_000,
  )
  const { size } = statSync(file)
  const { slot } = poller
  await until('the read is reported', () => output().includes('a read stays open'))
  const line = output()
    .split('\n')
    .find(line => line.includes('a read stays open'))
  t.equal(JSON.parse(line ?? '{}').childPid, stopped?.child.pid, 'with its process')
  await sleep(COPY_STOP_MS - 10_000)
  t.ok((await metric('slotline_store_reader_seconds')) > 45, 'and its age is a metric')
  const blocks = poller.slot - slot
  const grown = statSync(file).size
  t.ok(blocks > 300, `${blocks} blocks were committed`)
  const bound = blocks * BLOCK_PAGES_MAX * PAGE_BYTES
  t.ok(grown - size < bound, `the file grew by ${grown - size} bytes in ${blocks} blocks`)
  t.ok(existsSync(draft), 'a command is not ended')
  t.notOk(output().includes('restarting its process'))

  stopped?.child.kill('SIGCONT')
  t.equal(await stopped?.ended, 0, 'its copy is complete')
  t.ok(existsSync(join(target, 'backup.json')))
  await until(
    'the read has ended',
    async () => (await metric('slotline_store_reader_seconds')) === 0,
  )
  const { tip } = service.chain
  const before = statSync(file).size
  await until('further blocks are committed', () => poller.slot > tip.slot + 50)
  t.ok(statSync(file).size - before < MIB, 'freed pages are reused')
  await service.checkStore()
})
