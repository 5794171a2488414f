import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SAMPLE_CALLS } from '../../src/dashboard/pages/lib/sample-text.js'
import {
  checkSample,
  checkTips,
  sampleEnvironment,
  samplesOf,
  withSmallPages,
} from '../fixtures/docs/samples.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { repositoryPath } from '../fixtures/repository.js'
import { skipAbsent } from '../fixtures/skip-absent.js'

const path = (name: string): string => repositoryPath(`test/clients/${name}`)
const TARGET = repositoryPath('native/target/rust-client/')
const SAMPLES_TARGET = repositoryPath('native/target/rust-samples/')
/** As docs/dashboard.md says. */
const OLDEST = '1.90.0'
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

/** The commands that a sample names: its first lines, each continued after a backslash. */
const commandsOf = (text: string): readonly (readonly string[])[] => {
  const lines = text.split('\n')
  const comment = lines.slice(
    0,
    lines.findIndex(line => !line.startsWith('//')),
  )
  const joined = comment.map(line => line.slice(2).trim()).join('\n')
  return joined
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter(line => line.startsWith('cargo add '))
    .map(line => line.split(/\s+/).slice(1))
}

const run = (command: string, args: readonly string[], cwd: string): string | undefined => {
  const { status, error, stderr } = spawnSync(command, args, {
    ...{ cwd, timeout: BUILD_MS, encoding: 'utf8' },
    env: { ...process.env, CARGO_TARGET_DIR: SAMPLES_TARGET },
  })
  return status === 0 ? undefined : (error?.message ?? stderr.slice(-2_000))
}

const skipSamples =
  !IS_WANTED && 'SLOTLINE_RUST_CLIENT=1 builds them, which takes minutes; so does `npm run soak`'

// As a person does it with the oldest Rust that is named: a new crate without a lock file.
t.test(
  'the samples of the dashboard for Rust build with Rust 1.90, and run',
  { skip: skipSamples },
  async t => {
    t.setTimeout(BUILD_MS + 300_000)
    const install = ['toolchain', 'install', OLDEST, '--profile', 'minimal', '--no-self-update']
    const absent = run('rustup', install, repositoryPath('.'))
    if (absent !== undefined) return skipAbsent(t, `no Rust ${OLDEST}: ${absent}`)
    const deployment = await startDeployment(t, { args: ['--edges', '1', '--slot-ms', '100'] })
    const sample = await samplesOf(deployment)
    const crate = join(deployment.dataDir, 'samples')
    t.equal(
      run('cargo', [`+${OLDEST}`, 'new', '--vcs', 'none', crate], deployment.dataDir),
      undefined,
    )
    mkdirSync(join(crate, 'src/bin'))
    for (const { id: call } of SAMPLE_CALLS) {
      const text = sample(call, 'rust.rs')
      for (const command of commandsOf(text))
        t.equal(run('cargo', [`+${OLDEST}`, ...command], crate), undefined, command.join(' '))
      writeFileSync(join(crate, `src/bin/${call}.rs`), withSmallPages(text))
    }
    t.equal(
      run('cargo', [`+${OLDEST}`, 'build', '--config', 'profile.dev.debug=false'], crate),
      undefined,
    )
    const env = sampleEnvironment(crate, deployment)
    for (const { id: call } of SAMPLE_CALLS)
      await t.test(call, async t => {
        const command = [`${SAMPLES_TARGET}debug/${call}`] as const
        await checkSample(t, deployment, call, command, env)
        if (call === 'bundle') await checkTips(t, deployment, command, env)
      })
  },
)
