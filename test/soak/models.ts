import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import { repositoryPath } from '../fixtures/repository.js'
import { skipAbsent } from '../fixtures/skip-absent.js'
import { soakTest } from '../fixtures/soak.js'

/** What threads share, and its tests under a scheduler that tries the orders of their steps. */
const MODELS = [
  ['sys', 'loop_queue'],
  ['wire', 'reply::model'],
  ['edge', 'limits::model'],
] as const

/**
 * Crates that read bytes by their address, themselves or in a dependency, and some of their tests:
 * an interpreted one takes a thousand times as long.
 */
const VIEWS = [
  ['primitives', 'base58'],
  ['edge', 'answers'],
  ['transaction', 'frames'],
] as const
const INTERPRETED_CASES = '4'

const TEST_MS = 1_800_000

const cargo = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync('cargo', args, {
    encoding: 'utf8',
    timeout: TEST_MS,
    maxBuffer: 64 * 1024 ** 2,
    env: { ...process.env, ...env },
  })

const check = (t: Test, name: string, result: ReturnType<typeof cargo>): void => {
  const { status, stdout, stderr } = result
  const passed = [...stdout.matchAll(/(\d+) passed/g)].reduce((sum, [, n]) => sum + Number(n), 0)
  t.equal(status, 0, status === 0 ? name : `${name}: ${(stdout + stderr).slice(-6_000)}`)
  t.ok(passed > 0, `${name}: ${passed} tests`)
}

const manifest = ['--manifest-path', repositoryPath('native/Cargo.toml')]

soakTest('no order of the steps of threads breaks what they share', {}, async t => {
  t.setTimeout(MODELS.length * TEST_MS)
  for (const [crate, filter] of MODELS) {
    const features = ['-p', crate, '--features', `${crate}/model`, filter]
    check(t, crate, cargo(['test', '--release', ...manifest, ...features]))
  }
})

soakTest('views of bytes have no undefined behaviour', {}, async t => {
  t.setTimeout(VIEWS.length * TEST_MS)
  if (cargo(['+nightly', 'miri', '--version']).status !== 0)
    return skipAbsent(t, 'no Miri: rustup toolchain install nightly --component miri,rust-src')
  for (const [crate, filter] of VIEWS) {
    const args = ['+nightly', 'miri', 'test', ...manifest, '-p', crate, '--lib', filter]
    const env = {
      CARGO_TARGET_DIR: repositoryPath('native/target/miri'),
      // Tests make folders.
      MIRIFLAGS: '-Zmiri-disable-isolation',
      PROPTEST_CASES: INTERPRETED_CASES,
    }
    check(t, crate, cargo(args, env))
  }
})
