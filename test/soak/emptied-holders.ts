import { spawnSync } from 'node:child_process'
import { repositoryPath } from '../fixtures/repository.js'
import { soakTest } from '../fixtures/soak.js'

const BUILD_MS = 1_800_000

soakTest('emptying the largest of two million holders in each slot is cheap', {}, async t => {
  t.setTimeout(BUILD_MS)
  const args = ['run', '--release', '--manifest-path', repositoryPath('native/Cargo.toml')]
  const { status, stdout, stderr } = spawnSync(
    'cargo',
    [...args, '-p', 'store', '--example', 'emptied_holders'],
    { timeout: BUILD_MS, encoding: 'utf8' },
  )
  // The program checks every answer and the time of every commit.
  t.equal(status, 0, `${stdout}${stderr}`.slice(-2_000))
  t.match(stdout, /2000000 holders, the largest 100 emptied in each of 50 slots: commit p50/)
  t.comment(stdout.trim())
})
