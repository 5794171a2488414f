import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SAMPLE_CALLS } from '../../src/dashboard/pages/lib/sample-text.js'
import {
  checkSample,
  sampleEnvironment,
  samplesOf,
  withSmallPages,
} from '../fixtures/docs/samples.js'
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

/** Builds a crate; returns the output of a failed build. */
const build = (manifest: string): string | undefined => {
  const args = ['build', '--locked', '--target-dir', TARGET, '--manifest-path']
  const { status, error, stderr } = spawnSync('cargo', [...args, manifest], {
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
  if (!isBuilt()) t.equal(build(path('rust/Cargo.toml')), undefined, 'it builds')
  const deployment = await startDeployment(t, {
    args: ['--edges', '1', '--traffic', '20', '--slot-ms', '100'],
  })
  const { locations, samples } = deployment.description
  const [{ rpcUrl, wsUrl }] = locations
  const [edge] = deployment.pidsOf('edge')
  await t.spawn(BINARY, [rpcUrl, wsUrl, JSON.stringify(samples), String(edge)], 'its checks')
  t.equal(await deployment.stop(), 0)
})

t.test('the samples of the dashboard for Rust do what they say', { skip }, async t => {
  t.setTimeout(BUILD_MS + 120_000)
  const deployment = await startDeployment(t, { args: ['--edges', '1', '--slot-ms', '100'] })
  const sample = await samplesOf(deployment)
  // The dependencies of the client, with a program for each sample.
  const crate = join(deployment.dataDir, 'samples')
  mkdirSync(join(crate, 'src/bin'), { recursive: true })
  for (const name of ['Cargo.toml', 'Cargo.lock'])
    copyFileSync(path(`rust/${name}`), join(crate, name))
  for (const { id: call } of SAMPLE_CALLS)
    writeFileSync(join(crate, `src/bin/${call}.rs`), withSmallPages(sample(call, 'rust.rs')))
  t.equal(build(join(crate, 'Cargo.toml')), undefined, 'they build')
  const env = sampleEnvironment(crate, deployment)
  for (const { id: call } of SAMPLE_CALLS)
    await t.test(call, t => checkSample(t, deployment, call, [`${TARGET}debug/${call}`], env))
})
