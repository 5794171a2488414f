import {
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { MIB, openBusyService } from '../fixtures/processes/busy-service.js'
import { ownDir } from '../fixtures/own-dir.js'
import { call, runToEnd, startDeployment } from '../fixtures/processes/deployment.js'
import { canMount, makeReadOnly, mountDisk } from '../fixtures/processes/small-disk.js'
import { soakTest } from '../fixtures/soak.js'
import { createSubmitter } from '../fixtures/submission/sandbox-submitter.js'
import { until } from '../fixtures/until.js'

const DISK_BYTES = 48 * MIB
const DATA_DISK_BYTES = 192 * MIB

/** The same on a separate disk. */
const openOnDisk = async (t: Test, store: object) => {
  const disks: ReturnType<typeof mountDisk>[] = []
  const before = (accounts: string) => void disks.push(mountDisk(t, accounts, DISK_BYTES))
  const service = await openBusyService(t, store, { before })
  return { ...service, disk: disks[0] }
}

const skip = canMount(t) ? false : 'a disk cannot be mounted here'

soakTest('a disk below its reserve stops only the writer', { skip }, async t => {
  const service = await openOnDisk(t, { diskReserveBytes: 8 * MIB })
  const { disk, indexerPid, poller, hasLogged } = service
  const pid = indexerPid()
  disk?.fill(6 * MIB)
  await until('the reason is logged', () =>
    hasLogged('feed unhealthy: the store stopped at its disk reserve (store.diskReserveBytes), '),
  )
  await service.checkStalled()
  disk?.free()
  await service.checkRecovered()
  t.equal(indexerPid(), pid, 'no process was restarted')
  t.equal(poller.brokenCount, 0)
  await service.checkStore()
})

t.test('a full disk', { skip }, async t => {
  // Retained changes need space that no block frees.
  const service = await openOnDisk(t, { feedMs: 1_000_000 })
  const { accounts, disk, indexerPid, poller, hasLogged } = service
  const pid = indexerPid()
  // One page: more than the reserve, less than a block.
  disk?.fill(4_096)
  await until('the reason is logged', () => {
    // A block of exactly this size leaves less than the reserve, which gives another message.
    disk?.leave(4_096)
    return hasLogged('feed unhealthy: the store cannot be written, its disk is full')
  })
  await service.checkStalled()
  t.equal(indexerPid(), pid)
  t.equal(poller.brokenCount, 0)

  process.kill(pid, 'SIGKILL')
  await until('another indexer opens the same store', () => {
    try {
      return indexerPid() !== pid
    } catch {
      return false
    }
  })
  const { size } = statSync(join(accounts, 'dev', '1', 'data.mdb'))
  await service.checkStalled()
  // One page is left free on the disk.
  t.ok(statSync(join(accounts, 'dev', '1', 'data.mdb')).size <= size + 4_096)
  const second = indexerPid()
  disk?.free()
  await service.checkRecovered()
  t.equal(indexerPid(), second, 'no process was restarted')
  await service.checkStore()
})

/** Files of this folder that a process maps to write, which others see. */
const mappedFiles = (pid: number, dir: string): string[] =>
  readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .map(line => /^\S+ rw-s (?:\S+ +){3}(\/.*)$/.exec(line)?.[1] ?? '')
    .filter(path => path.startsWith(`${dir}/`))

t.test('a full data disk ends no process', { skip }, async t => {
  const own = ownDir(t)
  const dir = join(own, 'data')
  const disk = mountDisk(t, dir, DATA_DISK_BYTES)
  // Stores need a larger reserve than this disk has.
  mkdirSync(join(own, 'accounts'))
  symlinkSync(join(own, 'accounts'), join(dir, 'accounts'))
  const { description, pidsOf, output } = await startDeployment(t, { dataDir: dir })
  const pids = (): number[] => ['edge', 'sender', 'control', 'indexer sandbox'].flatMap(pidsOf)
  const before = pids()
  const files = new Set(before.flatMap(pid => mappedFiles(pid, realpathSync(dir))))
  const names = [...files].map(path => basename(path))
  for (const name of ['shared', 'buckets', 'write-ahead-log-0', 'limits', 'lock.mdb'])
    t.ok(names.includes(name), `${name} is mapped, of ${names.join(' ')}`)
  const sparse = [...files].filter(path => {
    const { size, blocks } = statSync(path)
    return blocks * 512 < size
  })
  t.strictSame(sparse, [], 'every mapped file is on disk')

  const submitter = createSubmitter(description)
  const url = description.locations[0].rpcUrl
  const balance = () => call(url, 'getBalance', [description.samples['wallet']])
  const bundles = await Promise.all(Array.from({ length: 4 }, () => submitter.forRelay()))
  disk.fill(0)
  for (const bundle of bundles)
    t.match(await submitter.relayBundle([bundle]), { result: /^[0-9a-f]{64}$/ })
  t.match(await submitter.lander(await submitter.forLander()), { result: String })
  t.ok(await balance())
  t.strictSame(pids(), before, 'no process has ended')

  const [edge = 0] = pidsOf('edge')
  process.kill(edge, 'SIGKILL')
  await until('another edge maps the same files', async () => {
    const [pid] = pidsOf('edge')
    return (
      pid !== undefined && pid !== edge && (await balance().catch(() => undefined)) !== undefined
    )
  })
  t.notMatch(output(), 'SIGBUS')
})

soakTest('a folder that can only be read', { skip }, async t => {
  const service = await openOnDisk(t, {})
  const { accounts, indexerPid, poller, prepared, hasLogged } = service
  const pid = indexerPid()
  const end = makeReadOnly(t, join(accounts, 'dev'))
  const { slot } = poller
  await until('the process with open files continues', () => poller.slot > slot + 5)
  process.kill(pid, 'SIGKILL')
  await until('the reason is logged', () => hasLogged('is not writable: check its mount options'))
  const { answerCount } = poller
  await until('reads continue', () => poller.answerCount > answerCount + 20)
  end()
  await service.checkRecovered()
  t.not(indexerPid(), pid)
  t.equal(poller.brokenCount, 0)
  await service.checkStore()

  await t.test('at the start', async t => {
    const end = makeReadOnly(t, join(accounts, 'dev'))
    const { code, output } = await runToEnd(t, ['serve', '--config', prepared.configFile])
    t.equal(code, 1)
    t.match(output, /^slotline: \S+\/accounts\/dev\S* is not writable: check its mount options/m)
    end()
  })
})

soakTest('a map that is full', { skip }, async t => {
  const service = await openBusyService(t, { mapBytes: 6 * MIB, feedMs: 25_600 })
  const { prepared, hasLogged } = service
  await until('the reason is logged', () =>
    hasLogged('feed unhealthy: the store cannot grow, its map is full: stop every process, raise'),
  )
  await service.checkStalled()
  const text = readFileSync(prepared.configFile, 'utf8')
  t.match(text, 'mapBytes = 6291456')
  writeFileSync(prepared.configFile, text.replace('mapBytes = 6291456', 'mapBytes = 1073741824'))
  await service.restart()
  await service.checkRecovered()
  await service.checkStore()
})
