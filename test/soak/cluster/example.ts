// The deployment of docs/cluster-example.md with its files and commands, on loopback: each address
// 10.8.x.y is one of 127.0.0.0/8 here, and a chain of the sandbox is in place of richat.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { withoutHaproxy } from '../../fixtures/cluster/balancer.js'
import { withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { blocksOf, readPage, type Block } from '../../fixtures/docs/markdown.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { runToEnd, startServe } from '../../fixtures/processes/deployment.js'
import { makeCertificate } from '../../fixtures/server/certificates.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

/** In place of `10.8.`; another one for each test that runs on this computer. */
const NETWORK = `127.${1 + (process.pid % 250)}.`
const MACHINES = ['fra-1', 'fra-2', 'nyc-1'] as const
const CITIES = { fra: `${NETWORK}1.41`, nyc: `${NETWORK}2.41` }
const TLS_PORT = 8443

const blocks = blocksOf(readPage('docs/cluster-example.md'))
/** The blocks in this language that have a text, with addresses of loopback. */
const blocksWith = (language: string, text = ''): readonly string[] =>
  blocks
    .filter((block: Block) => block.language === language && block.text.includes(text))
    .map(block => `${block.text}\n`.replaceAll('10.8.', NETWORK))

const makeCertificates = (dir: string): void => {
  const [script = ''] = blocksOf(readPage('docs/cluster.md'))
    .filter(({ language, text }) => language === 'sh' && text.startsWith('openssl req'))
    .map(({ text }) => text)
  const [authority = ''] = script.split(/^certificate root$/m)
  const [own = ''] = blocksWith('sh', 'certificate root')
  // Members call each other from 127.0.0.1, and etcd compares that with the certificate.
  const local = own.replaceAll(/"(IP:[^"]+)"/g, '"$1,IP:127.0.0.1"')
  const made = spawnSync('bash', ['-ec', authority + local], { cwd: dir, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(made.stderr)
  const verified = spawnSync('bash', ['-c', 'openssl verify -CAfile ca.pem *.pem'], {
    cwd: dir,
    encoding: 'utf8',
  })
  t.match(
    verified.stdout.trim().split('\n'),
    Array.from({ length: 8 }, () => /: OK$/),
  )
}

const run = (t: Test, command: string, args: readonly string[]): void => {
  const child = spawn(command, args, { stdio: 'ignore' })
  const ended = once(child, 'close')
  t.teardown(() => {
    child.kill('SIGKILL')
    return ended
  })
}

const startEtcd = (t: Test, dir: string): void => {
  const files = blocksWith('yaml', 'initial-cluster')
  t.equal(files.length, 3)
  for (const text of files) {
    const [, name = ''] = /^name: (\S+)$/m.exec(text) ?? []
    const file = join(dir, `${name}.yml`)
    const data = join(dir, `data-${name}`)
    writeFileSync(file, text.replaceAll('/etc/etcd', dir).replace('/var/lib/etcd', data))
    run(t, 'etcd', ['--config-file', file])
  }
}

type Machine = {
  readonly id: string
  readonly host: string
  readonly dataDir: string
  readonly file: string
}

/** Writes the files of the machines; what they serve beside RPC is at their own addresses here. */
const writeMachines = (dir: string, feed: string): readonly Machine[] => {
  const files = blocksWith('toml')
  t.equal(files.length, MACHINES.length)
  return files.map((text, index) => {
    const id = MACHINES[index] ?? ''
    const [, host = ''] = /peerUrl = "https:\/\/(.+):9443"/.exec(text) ?? []
    const dataDir = join(dir, `data-${id}`)
    mkdirSync(dataDir, { mode: 0o700 })
    const file = join(dir, `${id}.toml`)
    const own = text
      .replace('/var/lib/slotline', dataDir)
      .replace(/^endpoint = "http:\/\/.+"$/m, `endpoint = "${feed}"\nstartSlot = 1`)
    writeFileSync(file, `${own}[metrics]\nhost = "${host}"\n[dashboard]\nhost = "${host}"\n`)
    return { id, host, dataDir, file }
  })
}

const startBalancers = (t: Test, dir: string): void => {
  const { certFile, keyFile } = makeCertificate(dir, 'balancer')
  const pem = join(dir, 'both.pem')
  writeFileSync(pem, Buffer.concat([readFileSync(certFile), readFileSync(keyFile)]))
  for (const [city, address] of Object.entries(CITIES)) {
    const [text = ''] = blocksWith('haproxy', `frontend ${city}\n`)
    const file = join(dir, `${city}.cfg`)
    const bind = `bind ${address}:${TLS_PORT} ssl crt ${pem}`
    writeFileSync(file, text.replace(/bind :443 ssl crt \S+/, bind))
    const checked = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
    t.equal(checked.status, 0, checked.stderr)
    run(t, 'haproxy', ['-f', file])
  }
}

const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
t.teardown(() => dispatcher.destroy())

const read = async (url: string): Promise<string> => {
  const { body } = await request(url, { dispatcher })
  return body.text()
}

const admin = async (
  { dataDir, host }: Machine,
  method: 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<Record<string, unknown>> => {
  const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()
  const answer = await request(`http://${host}:9465/admin/accesses${path}`, {
    dispatcher,
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await answer.body.json()) as Record<string, unknown>
}

const skip = withoutEtcd || withoutHaproxy

soakTest('two cities, three machines', { skip, timeout: 120_000 }, async t => {
  const dir = ownDir(t)
  makeCertificates(dir)
  startEtcd(t, dir)
  const chain = await startSandboxChain({ slotMs: 200, trafficPerSecond: 0 })
  t.teardown(() => chain.close())
  const machines = writeMachines(dir, chain.geyserUrl)
  for (const { file, id } of machines)
    t.match(await runToEnd(t, ['config', 'check', file]), { code: 0 }, id)

  const operate = (line: string) => {
    const [, ...args] = line.split(' ')
    const paths = new Map([
      ['slotline.toml', machines[0]?.file],
      ['root.pem', join(dir, 'root.pem')],
      ['root.key', join(dir, 'root.key')],
    ])
    return runToEnd(
      t,
      args.map(arg => paths.get(arg) ?? arg),
    )
  }
  const [commands = ''] = blocksWith('sh', 'slotline cluster init')
  const [init = '', ...additions] = commands.trim().split('\n')
  let made = await operate(init)
  await until('the cluster is made', async () => {
    if (made.code !== 0) made = await operate(init)
    return made.code === 0
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${made.output}`)
  })
  for (const line of additions) t.match(await operate(line), { code: 0 }, line)

  const [first, , far] = machines
  if (first === undefined || far === undefined) throw new Error('no machines')
  for (const machine of machines) {
    if (machine === far)
      copyFileSync(join(first.dataDir, 'access.key'), join(far.dataDir, 'access.key'))
    await startServe(t, machine.file)
  }
  for (const { host, id } of machines)
    await until(`${id} is healthy`, async () => (await read(`http://${host}:8899/health`)) === 'ok')
  const [list = ''] = blocksWith('sh', 'slotline cluster machines')
  const { output } = await operate(list.trim())
  t.match(output, /^machine /, 'and no warning of Node.js')
  for (const id of MACHINES) t.match(output, new RegExp(`^${id} .* \\d\\.\\d s .* ok$`, 'm'))

  startBalancers(t, dir)
  for (const [city, address] of Object.entries(CITIES))
    await until(`the balancer of ${city} serves`, () =>
      read(`https://${address}:${TLS_PORT}/health`).then(
        text => text === 'ok',
        () => false,
      ),
    )

  const grant = { subject: 'ada', product: 'node-access', kind: 'pass' }
  const { accessId } = await admin(first, 'POST', '', grant)
  for (const [city, address] of Object.entries(CITIES)) {
    const path = `/${String(accessId)}/networks/mainnet/locations/${city}/token`
    const { token } = await admin(first, 'POST', path)
    t.match(await admin(far, 'POST', `${path}/reveal`), { token }, 'both controls have the key')
    const slot = async (): Promise<number> => {
      const { body, statusCode } = await request(
        `https://${address}:${TLS_PORT}/${String(token)}`,
        {
          dispatcher,
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"jsonrpc":"2.0","id":1,"method":"getSlot"}',
        },
      )
      await body.dump()
      return statusCode
    }
    t.equal(await slot(), 200, `it works in ${city}`)
    const revoked = await admin(far, 'DELETE', path)
    const here = MACHINES.filter(id => id.startsWith(city))
    t.match(revoked, { machines: here.map(id => ({ id, by: 'confirmed' })) })
    t.equal(await slot(), 401, 'and no longer when it is revoked')
  }
})
