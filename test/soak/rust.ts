import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import t from 'tap'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { repositoryPath } from '../fixtures/repository.js'

const path = (name: string): string => repositoryPath(`test/clients/${name}`)
const TARGET = repositoryPath('native/target/rust-client/')
const BINARY = `${TARGET}debug/rust-client`
const SOURCES = ['main.rs', 'checks.rs', 'client.rs'].map(name => path(`rust/src/${name}`))
/** 330 crates are compiled. */
const BUILD_MS = 1_800_000
const IS_WANTED =
  process.env['SLOTLINE_RUST_CLIENT'] === '1' || process.env['SLOTLINE_SOAK'] === 'full'

const builtAt = (file: string): number => (existsSync(file) ? statSync(file).mtimeMs : 0)

const isBuilt = (): boolean =>
  [...SOURCES, path('rust/Cargo.lock')].every(source => builtAt(source) <= builtAt(BINARY))

/** Returns the output of a failed build. */
const build = (): string | undefined => {
  const args = ['build', '--locked', '--target-dir', TARGET, '--manifest-path']
  const { status, error, stderr } = spawnSync('cargo', [...args, path('rust/Cargo.toml')], {
    timeout: BUILD_MS,
    encoding: 'utf8',
  })
  return status === 0 ? undefined : (error?.message ?? stderr.slice(-2_000))
}

// The build takes minutes and needs a network: only for `npm run soak`, or where it was built
// before.
const skip =
  !IS_WANTED &&
  !isBuilt() &&
  'not built: SLOTLINE_RUST_CLIENT=1 builds it, which takes minutes; so does `npm run soak`'

t.test('the Rust clients read, send and subscribe', { skip }, async t => {
  t.setTimeout(BUILD_MS + 120_000)
  if (!isBuilt()) t.equal(build(), undefined, 'it builds')
  const deployment = await startDeployment(t, {
    args: ['--edges', '1', '--traffic', '20', '--slot-ms', '100'],
  })
  const { locations, samples } = deployment.description
  const [{ rpcUrl, wsUrl }] = locations
  const [edge] = deployment.pidsOf('edge')
  await t.spawn(BINARY, [rpcUrl, wsUrl, JSON.stringify(samples), String(edge)], 'its checks')
  t.equal(await deployment.stop(), 0)
})
