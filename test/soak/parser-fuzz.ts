import { spawnSync } from 'node:child_process'
import { repositoryPath } from '../fixtures/repository.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { soakTest } from '../fixtures/soak.js'

const INPUTS = 1_000_000
/** `run.sh` ends with it where no compiler has the sanitizers. */
const NO_SANITIZERS = 77

soakTest('the parser of requests reads a million inputs without a finding', {}, async t => {
  t.setTimeout(900_000)
  const seed = String(1 + (Date.now() % 1_000_000))
  const { status, stdout, stderr } = spawnSync(
    repositoryPath('native/uws/fuzz/run.sh'),
    [String(INPUTS), seed],
    { encoding: 'utf8', cwd: t.testdir(), maxBuffer: 64 * 1024 ** 2 },
  )
  if (status === NO_SANITIZERS) return skipAbsent(t, stderr.trim())
  t.equal(status, 0, `seed ${seed}: ${stderr.slice(-10_000)}`)
  t.comment(stdout.trim())
})
