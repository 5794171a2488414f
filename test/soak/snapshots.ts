import { spawnSync } from 'node:child_process'
import { repositoryPath } from '../fixtures/repository.js'
import { soakTest } from '../fixtures/soak.js'

const path = (name: string): string => repositoryPath(`test/clients/${name}`)
const TARGET = repositoryPath('native/target/snapshot-reader/')
/** 340 crates are compiled. */
const BUILD_MS = 1_800_000

const cargo = (args: readonly string[]): { failure: string | undefined; text: string } => {
  const { status, error, stdout, stderr } = spawnSync('cargo', args, {
    timeout: BUILD_MS,
    encoding: 'utf8',
  })
  const failure = status === 0 ? undefined : (error?.message ?? `${stdout}${stderr}`.slice(-2_000))
  return { failure, text: stdout }
}

// The build takes minutes and needs a network: only for `npm run soak`.
soakTest("Agave's own reader finds the same accounts in each archive", {}, async t => {
  t.setTimeout(2 * BUILD_MS)
  const build = ['build', '--locked', '--target-dir', TARGET, '--manifest-path']
  t.equal(cargo([...build, path('snapshots/Cargo.toml')]).failure, undefined, 'it builds')
  const ours = ['test', '--release', '--manifest-path', repositoryPath('native/Cargo.toml')]
  const { failure, text } = cargo([...ours, '-p', 'ingest', '--test', 'snapshots', 'outside'])
  t.equal(failure, undefined, 'they agree')
  t.match(text, '1 passed')
})
