import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { callText } from '../fixtures/processes/deployment.js'
import { startSteadyClient } from '../fixtures/processes/steady-client.js'
import { canMount } from '../fixtures/processes/small-disk.js'
import { repositoryPath } from '../fixtures/repository.js'
import { soakTest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'
import { freePorts } from '../fixtures/free-ports.js'

const SUITES = ['bookworm', 'trixie']
const VERSIONS = ['0.1.0', '0.1.1']
const CONFIG = '/etc/slotline/slotline.toml'
/** From the archive to the first read, on a host without Rust. */
const FIRST_READ_MS = 60_000

const run = (command: string, args: readonly string[]): string => {
  const { error, status, stderr, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0)
    throw error ?? new Error(`${command} ${args.join(' ')}: ${status} ${stdout} ${stderr}`)
  return stdout
}

/** The same, while this process continues its own work. */
const runBeside = async (command: string, args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(command, args)).stdout

const hasProgram = (name: string): boolean => spawnSync(name, ['--version']).error === undefined

const skip = !hasProgram('debootstrap')
  ? 'debootstrap is not installed'
  : canMount(t)
    ? false
    : 'a file system cannot be mounted here'

/** A folder outside the repository, which may be below one that other users cannot open. */
const openFolder = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'slotline-package-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** A minimal Debian. */
const openChroot = (t: Test, suite: string) => {
  const dir = openFolder(t)
  // Its root must be open to the user of the service.
  chmodSync(dir, 0o755)
  run('debootstrap', ['--variant=minbase', '--include=adduser', suite, dir])
  run('mount', ['-t', 'proc', 'proc', join(dir, 'proc')])
  t.teardown(() => void run('umount', ['-l', join(dir, 'proc')]))
  // `env -i`: without the modules that the test runner adds to each process of Node.js.
  const clean = ['-i', `PATH=${process.env['PATH'] ?? ''}`, 'LANG=C.UTF-8', 'chroot']
  const asUser = [...clean, '--userspec=slotline:slotline', dir]
  return {
    dir,
    root: (...args: readonly string[]) => run('env', [...clean, dir, ...args]),
    user: (...args: readonly string[]) => run('env', [...asUser, ...args]),
    rootBeside: (...args: readonly string[]) => runBeside('env', [...clean, dir, ...args]),
    userBeside: (...args: readonly string[]) => runBeside('env', [...asUser, ...args]),
    start: (...args: readonly string[]): ChildProcess =>
      spawn('env', [...asUser, ...args], { stdio: ['ignore', 'pipe', 'pipe'] }),
  }
}

type Chroot = ReturnType<typeof openChroot>

/** Runs the service in the chroot, as the unit does. */
const serveIn = async (t: Test, chroot: Chroot) => {
  const child = chroot.start('/usr/bin/slotline', 'serve', '--config', CONFIG)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', chunk => (output += String(chunk)))
  const exit = new Promise<number | null>(resolve => child.once('close', resolve))
  t.teardown(() => {
    child.kill('SIGKILL')
    return exit
  })
  const isReady = (): boolean => {
    if (child.exitCode !== null) throw new Error(`serve ended: ${output}`)
    return output.includes('every process is ready')
  }
  await until('every process is ready', isReady, 60_000)
  return {
    output: () => output,
  }
}

const install = async (chroot: Chroot, file: string): Promise<void> => {
  copyFileSync(file, join(chroot.dir, 'tmp', 'slotline.deb'))
  await chroot.rootBeside('dpkg', '--install', '/tmp/slotline.deb')
}

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`)

const folder = skip === false ? openFolder(t) : ''
const files = VERSIONS.map(version => join(folder, `slotline_${version}_amd64.deb`))

soakTest('packages are made, and the archive is small enough', { skip }, async t => {
  const script = repositoryPath('scripts/package.mjs')
  const [first = '', second = ''] = VERSIONS
  const key = join(folder, 'key')
  run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const signed = ['--sign-key', key]
  run(process.execPath, [script, '--version', first, '--to', folder, ...signed])
  const signers = join(folder, 'allowed_signers')
  writeFileSync(signers, `slotline ${readFileSync(`${key}.pub`, 'utf8')}`)
  const verify = ['-Y', 'verify', '-f', signers, '-I', 'slotline', '-n', 'slotline-package']
  const verified = spawnSync('ssh-keygen', [...verify, '-s', join(folder, 'SHA256SUMS.sig')], {
    input: readFileSync(join(folder, 'SHA256SUMS')),
  })
  t.equal(verified.status, 0, 'the checksums are signed')
  const sums = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder })
  t.equal(sums.status, 0, 'and are right')
  run(process.execPath, [script, '--version', second, '--to', folder, '--fast'])
  const archive = join(folder, `slotline-${first}-linux-x64.tar.xz`)
  t.ok(statSync(archive).size <= 60 * 1024 ** 2, `${statSync(archive).size} bytes`)
  const names = run('tar', ['-tf', archive]).split('\n')
  const parts = ['litesvm', 'uWebSockets.js', '@types', 'typescript', 'dist/sandbox', 'dist/test']
  for (const part of parts)
    t.notOk(
      names.some(name => name.includes(`/${part}/`)),
      `it has no ${part}`,
    )
  t.strictSame(
    names.filter(name => /\.(map|ts)$|\/\./.test(name)),
    [],
    'nothing of developers',
  )
  for (const path of ['bin/LICENSE.node.txt', 'node_modules/jose/LICENSE.md'])
    t.ok(
      names.some(name => name.endsWith(path)),
      `it has ${path}`,
    )
})

for (const suite of SUITES)
  soakTest(`installed, read from, upgraded and removed on ${suite}`, { skip }, async t => {
    const chain = await startSandboxChain({ slotMs: 100, trafficPerSecond: 100 })
    t.teardown(() => chain.close())
    const chroot = openChroot(t, suite)
    const port = await freePorts()
    const [first = '', second = ''] = files
    const beganMs = performance.now()
    await install(chroot, first)
    const flags = ['--yes', '--data-dir', '/var/lib/slotline', '--port', String(port)]
    chroot.user('slotline', 'init', CONFIG, ...flags, '--feed', chain.geyserUrl)
    // The network is the host's: other services may have the default ports.
    appendFileSync(
      join(chroot.dir, CONFIG),
      `\n[metrics]\nport = ${port + 1}\n\n[dashboard]\nport = ${port + 2}\n`,
    )
    t.match(chroot.user('slotline', 'config', 'check', CONFIG), `${CONFIG} is valid`)
    const service = await serveIn(t, chroot)
    const slotline = (...args: readonly string[]) =>
      JSON.parse(chroot.user('slotline', ...args, '--data-dir', '/var/lib/slotline'))
    const subject = ['--subject', 'ada', '--product', 'node-access']
    const { accessId } = slotline('access', 'grant', ...subject)
    const { rpcUrl } = slotline('access', 'token', 'generate', accessId, 'mainnet', 'home')
    const isRead = async (): Promise<boolean> => {
      const answer = await callText(rpcUrl, 'getAccountInfo', [chain.samples.tokenAccount])
      return answer.includes('"lamports"')
    }
    await until('an account is read', isRead)
    const tookMs = performance.now() - beganMs
    t.ok(tookMs < FIRST_READ_MS, `from the package to the first read: ${Math.round(tookMs)} ms`)
    t.match(service.output(), `"version":"${VERSIONS[0]}"`)
    t.match(service.output(), '"library":"compiled"')
    const client = startSteadyClient({
      url: rpcUrl,
      bodies: () => '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}',
      perSecond: 100,
      connections: 4,
    })
    t.teardown(() => client.stop())
    appendFileSync(join(chroot.dir, CONFIG), '\n[rpc]\nreadTimeoutMs = 29000\n')
    t.match(await chroot.userBeside('slotline', 'reload', '--config', CONFIG), 'replaced edge 0')
    await install(chroot, second)
    const upgraded = await chroot.userBeside('slotline', 'upgrade', '--config', CONFIG)
    const successor = Number(/process (\d+) has the service/.exec(upgraded)?.[1])
    t.teardown(() => {
      if (isRunning(successor)) process.kill(successor, 'SIGKILL')
    })
    await until('the new version runs', () =>
      service.output().includes(`"version":"${VERSIONS[1]}"`),
    )
    t.ok(await isRead(), 'the same token reads')
    const { answered, failures } = await client.stop()
    t.strictSame(failures, [], `${answered} requests, none failed`)
    process.kill(successor, 'SIGTERM')
    await until('it has drained', () => !isRunning(successor))
    await until('the log says so', () => service.output().includes('every process has ended'))

    chroot.root('dpkg', '--remove', 'slotline')
    t.notOk(existsSync(join(chroot.dir, 'usr/lib/slotline')))
    t.ok(existsSync(join(chroot.dir, CONFIG)), 'the configuration is kept')
    chroot.root('dpkg', '--purge', 'slotline')
    t.notOk(existsSync(join(chroot.dir, 'etc/slotline')))
    const key = join(chroot.dir, 'var/lib/slotline/access.key')
    t.ok(existsSync(key), 'what cannot be recovered is kept')
    t.notMatch(readFileSync(join(chroot.dir, 'var/lib/dpkg/status'), 'utf8'), 'Package: slotline')
  })

const builder = ['podman', 'buildah', 'docker'].find(
  name => spawnSync(name, ['info'], { stdio: 'ignore' }).status === 0,
)
const noBuilder = builder === undefined ? 'no container builder runs here' : skip

soakTest('the container is built and runs', { skip: noBuilder }, async t => {
  const containerfile = repositoryPath('deploy/Containerfile')
  const tag = 'slotline-package-test'
  rmSync(join(folder, `slotline_${VERSIONS[1]}_amd64.deb`), { force: true })
  run(builder ?? '', ['build', '-f', containerfile, '-t', tag, folder])
  t.teardown(() => void run(builder ?? '', ['rmi', '-f', tag]))
  t.match(run(builder ?? '', ['run', '--rm', tag, '--help']), 'Solana RPC access point')
})
