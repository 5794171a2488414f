// `slotline sandbox --machines 3`, as `npm start -- --machines 3` runs it.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { ownDir } from '../../fixtures/own-dir.js'
import {
  call,
  runToEnd,
  startDeployment,
  statusOf,
  type Deployment,
} from '../../fixtures/processes/deployment.js'
import { soakTest } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

type MachineUrls = { readonly id: string; readonly rpcUrl: string; readonly dataDir: string }

const machinesOf = ({ dataDir }: Deployment): readonly MachineUrls[] =>
  JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')).machines

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Ids of the processes whose command line contains a text. */
const pidsWith = (text: string): number[] => {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n')
  return lines.filter(line => line.includes(text)).map(line => Number.parseInt(line, 10))
}

soakTest('three machines over three members', { skip: withoutEtcd, timeout: 180_000 }, async t => {
  const dataDir = ownDir(t)
  const first = await startDeployment(t, { dataDir, args: ['--machines', '3'] })
  const machines = machinesOf(first)
  t.strictSame(
    machines.map(({ id }) => id),
    ['fra-1', 'fra-2', 'nyc-1'],
  )
  const { tokenAccount } = first.description.samples
  const slots = machines.map(async ({ rpcUrl }) => {
    const { context, value } = (await call(rpcUrl, 'getAccountInfo', [tokenAccount])) as {
      context: { slot: number }
      value: object
    }
    t.ok(value, 'each has indexed the chain')
    return context.slot
  })
  const [one = 0, ...others] = await Promise.all(slots)
  t.ok(
    others.every(slot => Math.abs(slot - one) < 10),
    'they follow the same chain',
  )

  const [, near, far] = machines
  const status = await runToEnd(t, ['status', '--data-dir', near?.dataDir ?? ''])
  t.equal(status.code, 0, status.output)
  const list = ['access', 'list', '--subject', 'sandbox', '--data-dir', machines[0]?.dataDir ?? '']
  const { output } = await runToEnd(t, list)
  const [{ accessId }] = JSON.parse(output).accesses
  const admin = ['--data-dir', machines[0]?.dataDir ?? '']
  const revoke = ['access', 'token', 'revoke', ...admin, accessId, 'sandbox', 'fra']
  t.equal((await runToEnd(t, revoke)).code, 0)
  t.equal(await statusOf(first.url), 401)
  t.equal(await statusOf(near?.rpcUrl ?? ''), 401, 'it is dead on the other machine too')
  t.equal(await statusOf(far?.rpcUrl ?? ''), 200, 'another location has a token of its own')

  const pids = pidsWith(dataDir)
  t.ok(pids.length >= 4, `${pids.length} processes`)
  t.equal(await first.stop(), 0)
  await until('every process has ended', () => !pids.some(isRunning))

  const second = await startDeployment(t, { dataDir, port: first.port, args: ['--machines', '3'] })
  const [again, , distant] = machinesOf(second)
  t.equal(distant?.rpcUrl, far?.rpcUrl, 'tokens are kept')
  t.not(again?.rpcUrl, machines[0]?.rpcUrl, 'a revoked one is made again')
  t.equal(await statusOf(far?.rpcUrl ?? ''), 200)
  const all = pidsWith(dataDir)
  second.supervisor.kill('SIGKILL')
  await until('no process outlives the sandbox', () => !all.some(isRunning))
})

t.test('without etcd one line says how to get it', async t => {
  const { code, output } = await runToEnd(
    t,
    ['sandbox', '--machines', '3', '--data-dir', ownDir(t)],
    { variables: ['PATH=/nowhere'] },
  )
  t.equal(code, 1)
  t.match(output, /^slotline: etcd is not installed: apt-get install etcd-server, .*\n$/)
})
