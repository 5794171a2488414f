import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import {
  call,
  childPids,
  runToEnd,
  startCommand,
  type Service,
} from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { prepareServe, type Prepared } from '../fixtures/processes/serve.js'
import { startSteadyClient } from '../fixtures/processes/steady-client.js'
import { openSocket } from '../fixtures/server/socket.js'
import { until } from '../fixtures/until.js'

const BODY = '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}'
const ROLES = ['control', 'indexer one', 'edge'] as const

/** Its arguments, and its title later. */
const SUPERVISOR = /--take-over|slotline supervisor/

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`)

const open = async (t: Test): Promise<{ prepared: Prepared; service: Service }> => {
  const chain = await startSandboxChain({ slotMs: 100 })
  t.teardown(() => chain.close())
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl, startSlot: 1 } },
    { processes: { edgeCount: 2, startMs: 8_000 }, server: { drainMs: 1_000 } },
  )
  const service = await prepared.start()
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

const childrenOf = (supervisor: number): number[] => childPids(supervisor).toSorted()

const metricsOf = async ({ metricsUrl }: Prepared): Promise<string> =>
  (await fetch(metricsUrl)).text()

t.test('an upgrade replaces every process, without a failed request', async t => {
  const { prepared, service } = await open(t)
  const former = requirePid(service.supervisor.pid)
  const before = childrenOf(former)
  t.equal(before.length, 4)
  const client = startSteadyClient({
    url: prepared.urlOf('one'),
    bodies: () => BODY,
    perSecond: 400,
    connections: 8,
  })
  t.teardown(() => client.stop())
  const path = `/${prepared.tokenOf('one', 'fra')}`
  const socket = await openSocket(prepared.portOf('fra'), { path })

  const { code, output } = await upgrade(t, prepared)
  t.equal(code, 0, output)
  const pid = successorOf(t, output)
  t.strictSame(await socket.closed, { code: 1012, reason: 'restart' })
  await until('the former supervisor has ended', () => !isRunning(former))
  t.strictSame(before.filter(isRunning), [], 'and so have its children')
  t.equal(childrenOf(pid).length, 4)
  for (const role of ROLES)
    t.ok(childPids(pid, `slotline ${role.split(' ')[0]}`).length > 0, `${role} runs`)
  await until('its metrics are served', async () =>
    / \d+\n/.test((await metricsOf(prepared)).replace(/^#.*$/gm, '')),
  )
  t.match(await metricsOf(prepared), /slotline_process_up\{process="supervisor",child="edge 1"\} 1/)

  const again = await upgrade(t, prepared)
  t.equal(again.code, 0, again.output)
  const last = successorOf(t, again.output)
  t.not(last, pid)
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

t.test('a successor that is killed, one that cannot start, and SIGTERM meanwhile', async t => {
  const { prepared, service } = await open(t)
  const former = requirePid(service.supervisor.pid)
  const client = startSteadyClient({
    url: prepared.urlOf('one'),
    bodies: () => BODY,
    perSecond: 100,
    connections: 4,
  })
  t.teardown(() => client.stop())
  const successor = async (): Promise<number> => {
    let pid: number | undefined
    await until('its successor starts', () => {
      pid = childPids(former).find(pid => SUPERVISOR.test(cmdline(pid)))
      return pid !== undefined
    })
    return requirePid(pid)
  }
  const upgrading = upgrade(t, prepared)
  const killed = await successor()
  await until('it has a child of its own', () => childPids(killed).length > 0)
  process.kill(killed, 'SIGKILL')
  const { code, output } = await upgrading
  t.equal(code, 1)
  t.match(output, 'the new supervisor: ended with SIGKILL')
  await until('the service is whole', async () => {
    const page = await metricsOf(prepared).catch(() => '')
    return ['control', 'indexer one', 'edge 0', 'edge 1'].every(name =>
      page.includes(`child="${name}"} 1`),
    )
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
  await successor()
  t.equal(await service.stop(), 0, 'SIGTERM during an upgrade drains')
  t.equal(await ending.exit, 1, ending.output())
})

const cmdline = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
