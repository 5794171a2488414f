import { spawn } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openIndexer } from '../../../src/native/indexer.js'
import { ACCOUNTS, BASE, loadStore } from '../../fixtures/ingest/loaded-store.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { canMount, mountDisk } from '../../fixtures/processes/small-disk.js'
import { scriptPath } from '../../fixtures/repository.js'
import { STORE } from '../../fixtures/rpc/store.js'
import { isSoak } from '../../fixtures/soak.js'

const ROUNDS = isSoak ? 100 : 2
const SCRIPT = scriptPath('test/fixtures/ingest/load-writer')
const DISK_BYTES = 64 * 1024 ** 2

/** The store of a completed load is whole, and no temporary file is left. */
const examine = (t: Test, dir: string): void => {
  const indexer = openIndexer(join(dir, 'store'), STORE)
  t.match(indexer.tip(), { slot: BASE.slot, blockHeight: BASE.blockHeight })
  t.equal(indexer.stats().accounts, ACCOUNTS)
  t.strictSame(indexer.check(), [], 'every index equals a recomputation')
  indexer.close()
}

t.test(`kill -9 of a load at ${ROUNDS} random instants`, async t => {
  const dir = ownDir(t)
  // A killed process cannot use tap's hook.
  const flags = process.execArgv.filter(flag => !flag.includes('processinfo'))
  const run = async (killMs: number): Promise<number> => {
    const startMs = performance.now()
    const child = spawn(process.execPath, [...flags, SCRIPT, dir], { stdio: 'ignore' })
    const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
    await Promise.race([sleep(killMs, undefined, { ref: false }), ended])
    child.kill('SIGKILL')
    await ended
    return performance.now() - startMs
  }
  const wholeMs = await run(60_000)
  examine(t, dir)
  let whole = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    rmSync(join(dir, 'store'), { recursive: true, force: true })
    // Files of the previous load stay in the folder: the next load must handle them.
    await run(wholeMs * (0.3 + 0.75 * Math.random()))
    if (!existsSync(join(dir, 'store'))) continue
    whole += 1
    examine(t, dir)
  }
  t.comment(`${whole} of ${ROUNDS} loads were through`)
  rmSync(join(dir, 'store'), { recursive: true, force: true })
  await loadStore(dir)
  examine(t, dir)
  t.strictSame(readdirSync(join(dir, 'work')), [], 'nothing is left of the killed ones')
})

const skip = canMount(t) ? false : 'a disk cannot be mounted here'

t.test('a load fails cleanly when the disk fills up', { skip }, async t => {
  const dir = join(ownDir(t), 'disk')
  const disk = mountDisk(t, dir, DISK_BYTES)
  // From too little for the first run to nearly enough.
  for (const leaveMib of [1, 8, 24]) {
    disk.fill(leaveMib * 1024 ** 2)
    const failed = await loadStore(dir).then(
      () => undefined,
      (error: unknown) => error,
    )
    disk.free()
    if (failed === undefined) {
      examine(t, dir)
      rmSync(join(dir, 'store'), { recursive: true })
      continue
    }
    t.match(String(failed), /disk is full|No space left/, `with ${leaveMib} MiB`)
    t.notOk(existsSync(join(dir, 'store')), 'nothing that could be taken for a store')
  }
  await loadStore(dir)
  examine(t, dir)
})
