import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import {
  call,
  childPids,
  runToEnd,
  startServe,
  startCommand,
  type Service,
} from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { prepareServe, type Prepared } from '../fixtures/processes/serve.js'
import { startSteadyClient } from '../fixtures/processes/steady-client.js'
import { openSocket } from '../fixtures/server/socket.js'
import { repeat } from '../fixtures/repeat.js'
import { repositoryPath } from '../fixtures/repository.js'
import { isSoak, soakSubtest } from '../fixtures/soak.js'
import { until } from '../fixtures/until.js'

const BODY = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
const ROLES = ['control', 'indexer one', 'sender', 'edge'] as const

/** Its arguments, and its title later. */
const SUPERVISOR = /--take-over|slotline supervisor/

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`)

type Opened = { readonly prepared: Prepared; readonly service: Service }

/** Starts the service, of this build or another one. */
const open = async (
  t: Test,
  { main, edgeCount = 1 }: { readonly main?: string; readonly edgeCount?: number } = {},
): Promise<Opened> => {
  const chain = await startSandboxChain()
  t.teardown(() => chain.close())
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl, startSlot: 1 } },
    { processes: { edgeCount, startMs: 8_000 }, server: { drainMs: 1_000 } },
  )
  const service = await startServe(t, prepared.configFile, { main })
  await until('a slot is served', () =>
    call(prepared.urlOf('one'), 'getSlot', []).then(Boolean, () => false),
  )
  return { prepared, service }
}

const upgrade = (t: Test, { dataDir }: Prepared) => runToEnd(t, ['upgrade', '--data-dir', dataDir])

/** The supervisor that has taken the service over; ended with the test. */
const successorOf = (t: Test, output: string): number => {
  const pid = Number(/process (\d+) has the service/.exec(output)?.[1])
  t.teardown(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  })
  return pid
}

const cmdline = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** The supervisor that another one has started. */
const untilSuccessor = async (former: number): Promise<number> => {
  let pid: number | undefined
  await until('its successor starts', () => {
    pid = childPids(former).find(pid => SUPERVISOR.test(cmdline(pid)))
    return pid !== undefined
  })
  return requirePid(pid)
}

/** True where the metrics are served, and every edge has answered; else the line of one. */
const scrape = ({ metricsUrl }: Prepared): Promise<unknown> =>
  new Promise((resolve, reject) => {
    get(metricsUrl, { agent: false }, response => {
      response.setEncoding('utf8')
      let page = ''
      response.on('data', chunk => (page += String(chunk)))
      response.on('error', reject)
      response.on('end', () =>
        resolve(
          /^slotline_process_up.*child="edge.* 0$/m.exec(page)?.[0] ?? response.statusCode === 200,
        ),
      )
    }).on('error', reject)
  })

const childrenOf = (supervisor: number): number[] => childPids(supervisor).toSorted()

const metricsOf = async ({ metricsUrl }: Prepared): Promise<string> =>
  (await fetch(metricsUrl)).text()

t.test('an upgrade replaces every process, without a failed request', async t => {
  const { prepared, service } = await open(t, { edgeCount: 2 })
  const former = requirePid(service.supervisor.pid)
  const before = childrenOf(former)
  t.equal(before.length, 5)
  const client = startSteadyClient({
    url: prepared.urlOf('one'),
    bodies: () => BODY,
    perSecond: 100,
    connections: 8,
  })
  t.teardown(() => client.stop())
  const path = `/${prepared.tokenOf('one', 'fra')}`
  const socket = await openSocket(prepared.portOf('fra'), { path })

  const scrapes = repeat(true, () => scrape(prepared))
  const { code, output } = await upgrade(t, prepared)
  t.equal(code, 0, output)
  const pid = successorOf(t, output)
  t.strictSame(await socket.closed, { code: 1012, reason: 'restart' })
  await until('the former supervisor has ended', () => !isRunning(former))
  t.strictSame(before.filter(isRunning), [], 'and so have its children')
  t.equal(childrenOf(pid).length, 5)
  for (const role of ROLES)
    t.ok(childPids(pid, `slotline ${role.split(' ')[0]}`).length > 0, `${role} runs`)
  await until('its metrics are served', async () =>
    / \d+\n/.test((await metricsOf(prepared)).replace(/^#.*$/gm, '')),
  )
  t.match(await metricsOf(prepared), /slotline_process_up\{process="supervisor",child="edge 1"\} 1/)

  const upgrading = upgrade(t, prepared)
  await untilSuccessor(pid)
  process.kill(pid, 'SIGHUP')
  const refused = await runToEnd(t, ['reload', '--data-dir', prepared.dataDir])
  t.match(refused, { code: 1, output: /a change of the service is in progress/ })
  const again = await upgrading
  t.equal(again.code, 0, again.output)
  const last = successorOf(t, again.output)
  t.not(last, pid)
  await until('the signal reloads the new one', () =>
    /"from":"SIGHUP","outcome":"[^"]* no process is replaced/.test(service.output()),
  )
  const scraped = await scrapes.stop()
  // On a busy machine a process may answer one page too late.
  const isLate = (one: unknown): boolean => !isSoak && /^slotline_process_up.* 0$/.test(String(one))
  const lateCount = scraped.others.filter(isLate).length
  const others = scraped.others.filter(one => !isLate(one))
  t.strictSame(others, [], `${scraped.count} pages of metrics`)
  t.ok(scraped.count > 10 && lateCount <= scraped.count / 20, `${lateCount} without a process`)
  const { answered, failures } = await client.stop()
  t.strictSame(failures, [], `${answered} requests, none failed`)
  t.match((await runToEnd(t, ['audit', '--config', prepared.configFile])).output, 'upgrade')

  t.match(
    (await runToEnd(t, ['serve', '--config', prepared.configFile])).output,
    'another Slotline',
  )
  process.kill(last, 'SIGTERM')
  await until('the last one has drained', () => !isRunning(last))
  t.match(service.output(), 'every process has ended')
})

/** A copy of the program, which a test may break. */
const copyBuild = (t: Test): string => {
  const dir = mkdtempSync(join(tmpdir(), 'slotline-build-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const from = repositoryPath('dist')
  const others = new Set(['bench', 'packages', 'test'].map(name => join(from, name)))
  const filter = (path: string): boolean => !others.has(path) && !path.endsWith('.map')
  cpSync(from, join(dir, 'dist'), { recursive: true, filter })
  for (const name of ['node_modules', 'native', 'package.json'])
    symlinkSync(repositoryPath(name), join(dir, name))
  return join(dir, 'dist')
}

const breakBuild = async (t: Test, { prepared, service }: Opened, build: string): Promise<void> => {
  const former = requirePid(service.supervisor.pid)
  const before = childrenOf(former)
  const edges = service.pidsOf('edge').toSorted()
  const version = 'TAKEOVER_VERSION = '
  const parts = readdirSync(join(build, 'command-line')).map(name => `command-line/${name}`)
  const withVersion = parts.find(
    name => name.endsWith('.js') && readFileSync(join(build, name), 'utf8').includes(version),
  )
  const cases: [file: string, change: (code: string) => string, message: RegExp][] = [
    [
      withVersion ?? '',
      code => code.replace(version, `${version}1000 + `),
      /this build cannot take over from the running one: restart the service/,
    ],
    ['main.js', () => 'nothing()', /the new supervisor: ended with exit code 1\n/],
    [
      'edge.js',
      code => code.replace('"src/processes/edge.ts"() {', '$& nothing()'),
      /edge cannot be loaded: nothing is not/,
    ],
    ['edge.js', () => 'nothing()', /edge cannot be loaded: ended with exit code 1\n/],
    // The last: control and the indexer are replaced before.
    [
      'edge.js',
      code => code.replace('const { config, index, position }', 'nothing()\n$&'),
      /edge 0: nothing is not defined/,
    ],
  ]
  // The first and the last refusal of an upgrade; a soak tries those in between.
  const tried = isSoak ? cases : cases.filter((_, nth) => nth % (cases.length - 1) === 0)
  for (const [file, change, message] of tried)
    await t.test(`${file}: ${String(message)}`, async t => {
      const path = join(build, file)
      const code = readFileSync(path, 'utf8')
      const isLast = cases.at(-1)?.[2] === message
      writeFileSync(path, change(code))
      t.not(readFileSync(path, 'utf8'), code)
      const { code: exitCode, output } = await upgrade(t, prepared)
      writeFileSync(path, code)
      t.equal(exitCode, 1)
      t.match(output, message)
      t.ok(await call(prepared.urlOf('one'), 'getSlot', []))
      if (!isLast) t.strictSame(childrenOf(former), before, 'every process is the same')
      t.strictSame(service.pidsOf('edge').toSorted(), edges)
    })
  await until('every process runs', () => childrenOf(former).length === before.length)
}

const interrupt = async (t: Test, { prepared, service }: Opened): Promise<void> => {
  const former = requirePid(service.supervisor.pid)
  const client = startSteadyClient({
    url: prepared.urlOf('one'),
    bodies: () => BODY,
    perSecond: 100,
    connections: 4,
  })
  t.teardown(() => client.stop())
  const upgrading = upgrade(t, prepared)
  const killed = await untilSuccessor(former)
  await until('it has a child of its own', () => childPids(killed).length > 0)
  process.kill(killed, 'SIGKILL')
  const { code, output } = await upgrading
  t.equal(code, 1)
  t.match(output, 'the new supervisor: ended with SIGKILL')
  await until('the service is whole', async () => {
    const page = await metricsOf(prepared).catch(() => '')
    return ['control', 'indexer one', 'edge 0'].every(name => page.includes(`child="${name}"} 1`))
  })
  t.ok(isRunning(former))
  const { answered, failures } = await client.stop()
  t.strictSame(failures, [], `${answered} requests, none failed`)

  const text = readFileSync(prepared.configFile, 'utf8')
  writeFileSync(prepared.configFile, `nothing = 1\n${text}`)
  const faulty = await upgrade(t, prepared)
  t.equal(faulty.code, 1)
  t.match(faulty.output, /the new supervisor: .*nothing is unknown/)
  writeFileSync(prepared.configFile, text)

  const ending = startCommand(t, ['upgrade', '--data-dir', prepared.dataDir])
  await untilSuccessor(former)
  t.equal(await service.stop(), 0, 'SIGTERM during an upgrade drains')
  t.equal(await ending.exit, 1, ending.output())
}

// The last one ends the service.
t.test('upgrades that fail', async t => {
  const build = copyBuild(t)
  const opened = await open(t, { main: join(build, 'main.js') })
  await t.test('a build that cannot run changes nothing, and the command says why', t =>
    breakBuild(t, opened, build),
  )
  const name = 'a successor that is killed, one that cannot start, and SIGTERM meanwhile'
  await soakSubtest(t, name, t => interrupt(t, opened))
})
