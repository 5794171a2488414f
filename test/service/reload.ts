import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { parse, stringify } from 'smol-toml'
import bs58 from 'bs58'
import t, { t as root, type Test } from 'tap'
import { ADDRESSES } from '../../src/sandbox/solana/addresses.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import {
  call,
  childPids,
  runToEnd,
  startCommand,
  type Service,
} from '../fixtures/processes/deployment.js'
import { openCommands } from '../fixtures/processes/commands.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { prepareServe, type Prepared } from '../fixtures/processes/serve.js'
import { startSteadyClient } from '../fixtures/processes/steady-client.js'
import { openSocket } from '../fixtures/server/socket.js'
import { soakSubtest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const DRAIN_MS = 1_000
const START_MS = 8_000
const BODY = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'

type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Adds options to the configuration file. */
const configure = ({ configFile }: Prepared, sections: Sections): void => {
  const config = parse(readFileSync(configFile, 'utf8')) as Record<string, object>
  for (const [name, options] of Object.entries(sections))
    config[name] = { ...config[name], ...options }
  writeFileSync(configFile, stringify(config))
}

type Opened = { readonly prepared: Prepared; readonly service: Service }

const isServed = (prepared: Prepared): Promise<boolean> =>
  call(prepared.urlOf('one'), 'getSlot', []).then(Boolean, () => false)

const open = async (t: Test, edgeCount = 1): Promise<Opened> => {
  const chain = await startSandboxChain()
  t.teardown(() => chain.close())
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl, startSlot: 1 } },
    { processes: { edgeCount, startMs: START_MS }, server: { drainMs: DRAIN_MS } },
  )
  const service = await prepared.start()
  await until('a slot is served', () => isServed(prepared))
  return { prepared, service }
}

const commands = openCommands(root)
const reload = ({ configFile }: Prepared) => commands('reload', '--config', configFile)
/** In a process of its own, beside another one. */
const reloadBeside = (t: Test, { configFile }: Prepared) =>
  runToEnd(t, ['reload', '--config', configFile])

const ROLES = ['control', 'indexer', 'edge'] as const
const pidsOf = (service: Service) =>
  Object.fromEntries(ROLES.map(role => [role, service.pidsOf(role).toSorted()]))

t.test('a reload replaces what a change concerns, without a failed request', async t => {
  const { prepared, service } = await open(t, 2)
  const client = startSteadyClient({
    url: prepared.urlOf('one'),
    bodies: () => BODY,
    perSecond: 100,
    connections: 8,
  })
  const socket = () =>
    openSocket(prepared.portOf('fra'), { path: `/${prepared.tokenOf('one', 'fra')}` })
  const sockets = await Promise.all([socket(), socket(), socket(), socket()])

  const first = pidsOf(service)
  const same = await reload(prepared)
  t.equal(same.code, 0, same.output)
  t.match(same.output, /slotline\.toml is loaded: no process is replaced/)
  t.strictSame(pidsOf(service), first, 'nothing has changed')

  configure(prepared, { rpc: { readTimeoutMs: 29_000 } })
  const edges = await reload(prepared)
  t.equal(edges.code, 0, edges.output)
  t.match(edges.output, /replaced edge 0, edge 1\n$/)
  const second = pidsOf(service)
  t.strictSame([second['control'], second['indexer']], [first['control'], first['indexer']])
  t.strictSame(
    first['edge']?.filter(pid => second['edge']?.includes(pid)),
    [],
    'each edge is another process',
  )
  for (const { closed } of sockets) t.strictSame(await closed, { code: 1012, reason: 'restart' })

  configure(prepared, { bootstrap: { pollMs: 450 }, dashboard: { sessionSweepMs: 50_000 } })
  process.kill(requirePid(service.supervisor.pid), 'SIGHUP')
  await until('the signal has reloaded it', () =>
    /"from":"SIGHUP","outcome":"[^"]* replaced control, indexer one"/.test(service.output()),
  )
  t.not(pidsOf(service)['control'], second['control'])
  t.strictSame(pidsOf(service)['edge'], second['edge'])

  const { answered, failures } = await client.stop()
  t.strictSame(failures, [], `${answered} requests, none failed`)
  t.ok(answered > 100)
  const audit = await commands('audit', '--config', prepared.configFile)
  t.match(audit.output, /reload/, 'in the audit log')
  t.match(audit.output, 'SIGHUP')
  t.equal(await service.stop(), 0)
})

const loadFaulty = async (t: Test, { prepared, service }: Opened): Promise<void> => {
  const first = pidsOf(service)
  const text = readFileSync(prepared.configFile, 'utf8')
  const cases: [name: string, change: () => void, message: RegExp][] = [
    [
      'faults',
      () => writeFileSync(prepared.configFile, `nothing = 1\n${text}\n[store]\nmapBytes = -1\n`),
      /nothing is unknown[^]*store\.mapBytes must be/,
    ],
    [
      'a syntax error',
      () => writeFileSync(prepared.configFile, `${text}\n[store\n`),
      /^slotline: \S+slotline\.toml:\d+: [^\n]+\n$/,
    ],
    [
      'no file',
      () => rmSync(prepared.configFile),
      /^slotline: \S+slotline\.toml does not exist\n$/,
    ],
    [
      'another data directory',
      () =>
        writeFileSync(
          prepared.configFile,
          `dataDir = "other"\n${text.replace(/^dataDir.*$/m, '')}`,
        ),
      /cannot change while the service runs: dataDir/,
    ],
    [
      'an option that is shared',
      () => configure(prepared, { processes: { edgeCount: 2 }, rpc: { readTimeoutMs: 29_000 } }),
      /cannot change while the service runs: processes\.edgeCount/,
    ],
    [
      'a port of another program',
      () => configure(prepared, { metrics: { port: prepared.portOf('fra') + 9 } }),
      /127\.0\.0\.1:\d+ \(metrics\.port\): the port is in use/,
    ],
    [
      'a sender that cannot start',
      () => {
        // The running one has the first write-ahead log.
        mkdirSync(join(prepared.dataDir, 'sender', 'write-ahead-log-1.lock'))
        const config = parse(text) as { networks: object[] }
        const lander = {
          upstream: { urls: ['http://127.0.0.1:1'] },
          tipAddresses: [bs58.encode(ADDRESSES.token)],
        }
        config.networks = config.networks.map(network => ({ ...network, lander }))
        writeFileSync(prepared.configFile, stringify(config))
      },
      /sender: .*illegal operation on a directory/,
    ],
  ]
  const other = await import('node:net').then(({ createServer }) => createServer())
  other.listen(prepared.portOf('fra') + 9, '127.0.0.1')
  t.teardown(() => other.close())
  let refusals = 0
  for (const [name, change, message] of cases)
    await t.test(name, async t => {
      change()
      const { code, output } = await reload(prepared)
      t.equal(code, 1, output)
      t.match(output, message)
      refusals++
      await until('the log says why', () => {
        const lines = service.output().split('"msg":"the service is not changed"')
        return lines.length === refusals + 1
      })
      t.strictSame(pidsOf(service)['edge'], first['edge'])
      t.ok(await call(prepared.urlOf('one'), 'getSlot', []))
      writeFileSync(prepared.configFile, text)
    })
  t.strictSame(service.pidsOf('indexer').toSorted(), first['indexer'])
  await until('control is back', () => service.pidsOf('control').length === 1)
  rmSync(join(prepared.dataDir, 'sender', 'write-ahead-log-1.lock'), { recursive: true })
}

const killEdges = async (t: Test, { prepared, service }: Opened): Promise<void> => {
  const edges = service.pidsOf('edge')
  for (const pid of edges) process.kill(pid, 'SIGSTOP')
  const socket = connect(prepared.portOf('fra'), '127.0.0.1')
  await once(socket, 'connect')
  socket.write('GET /ping HTTP/1.1\r\nhost: x\r\n\r\n')
  for (const pid of edges) process.kill(pid, 'SIGKILL')
  const [reply] = await once(socket, 'data')
  t.match(String(reply), /^HTTP\/1\.1 200 /)
  socket.destroy()
  await until('the next one is ready', () => isServed(prepared))
}

/** Empty where the process has ended. */
const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const interrupt = async (t: Test, { prepared, service }: Opened): Promise<void> => {
  const first = service.pidsOf('edge')
  configure(prepared, { rpc: { readTimeoutMs: 29_000 } })
  // It has its title a moment before it is ready, which may be over before this looks again.
  const isEdge = (pid: number): boolean =>
    /\bedge(?:\.js)?$/.test(readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim())
  const sendToSuccessor = (signal: NodeJS.Signals): Promise<void> =>
    until('its successor starts', () => {
      const children = childPids(requirePid(service.supervisor.pid)).filter(isEdge)
      const pid = children.find(pid => !first.includes(pid))
      if (pid !== undefined) process.kill(pid, signal)
      return pid !== undefined
    })
  const interrupted = reloadBeside(t, prepared)
  await sendToSuccessor('SIGKILL')
  t.match(await interrupted, { code: 1, output: /edge 0: ended with SIGKILL/ })
  t.strictSame(service.pidsOf('edge'), first)

  const failing = reloadBeside(t, prepared)
  await sendToSuccessor('SIGSTOP')
  const second = await reloadBeside(t, prepared)
  t.equal(second.code, 1)
  t.match(second.output, 'a change of the service is in progress')
  const failed = await failing
  t.equal(failed.code, 1)
  t.match(failed.output, `edge 0 is not ready after ${START_MS} ms`)
  t.strictSame(service.pidsOf('edge'), first, 'the former edges continue')
  t.ok(await call(prepared.urlOf('one'), 'getSlot', []))

  const ended = startCommand(t, ['reload', '--data-dir', prepared.dataDir])
  await sendToSuccessor('SIGSTOP')
  t.equal(await service.stop(), 0, 'SIGTERM during a reload drains')
  t.equal(await ended.exit, 1, ended.output())
}

// The last one ends the service.
t.test('changes that fail', async t => {
  const opened = await open(t)
  await t.test('a configuration that is faulty or cannot be loaded changes nothing', t =>
    loadFaulty(t, opened),
  )
  await t.test('a connection that waits when its edge is killed is answered by the next one', t =>
    killEdges(t, opened),
  )
  const name = 'a successor that is killed, one that hangs, a second reload, and SIGTERM meanwhile'
  await soakSubtest(t, name, t => interrupt(t, opened))
})
