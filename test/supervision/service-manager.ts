import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openServiceManager } from '../../src/supervision/service-manager.js'
import { createLog } from '../../src/shared/log.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { repositoryPath } from '../fixtures/repository.js'
import { until } from '../fixtures/until.js'

/** A datagram socket like that of systemd, which Node.js does not have. */
const openSocket = async (t: Test, path: string): Promise<readonly string[]> => {
  const program = repositoryPath('test/fixtures/processes/notify-socket.py')
  const child = spawn('python3', [program, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.stdin.end())
  const messages: string[] = []
  createInterface({ input: child.stdout }).on('line', line => messages.push(line))
  await until('the socket is bound', () => messages.shift() === 'bound')
  return messages
}

t.test('a service tells when it is ready, that it lives, and that it stops', async t => {
  // The path of a socket has at most 107 bytes: one of the test's own folder would be too long.
  const dir = mkdtempSync(join(tmpdir(), 'slotline-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const socket = join(dir, 'notify')
  const messages = await openSocket(t, socket)
  const prepared = await prepareServe(t, { one: { endpoint: 'http://127.0.0.1:1' } })
  process.env['NOTIFY_SOCKET'] = socket
  process.env['WATCHDOG_USEC'] = '200000'
  const service = await prepared.start()
  delete process.env['NOTIFY_SOCKET']
  delete process.env['WATCHDOG_USEC']
  await until('the watchdog is told twice', () => messages.length > 2)
  t.strictSame(messages.slice(0, 3), [
    'READY=1,STATUS=every process is ready',
    'WATCHDOG=1',
    'WATCHDOG=1',
  ])
  for (const pid of ['edge', 'control', 'indexer'].flatMap(service.pidsOf))
    t.notMatch(readFileSync(`/proc/${pid}/environ`, 'latin1'), /NOTIFY_SOCKET|WATCHDOG/)

  service.supervisor.kill('SIGSTOP')
  const count = messages.length
  await new Promise(resolve => setTimeout(resolve, 500))
  t.ok(messages.length <= count + 1, 'a supervisor that hangs is silent')
  service.supervisor.kill('SIGCONT')
  t.equal(await service.stop(), 0)
  t.ok(messages.includes('STOPPING=1,STATUS=draining'))
})

t.test('an abstract socket, another process and no manager', async t => {
  const name = `@slotline-test-${process.pid}`
  const messages = await openSocket(t, name)
  const lines: string[] = []
  const log = createLog('test', line => lines.push(line))
  const other = { NOTIFY_SOCKET: name, WATCHDOG_PID: '1', WATCHDOG_USEC: '1000', KEPT: 'x' }
  const manager = openServiceManager(other, log)
  t.strictSame(other, { KEPT: 'x' })
  manager.ready()
  manager.stopping()
  await until('both arrive', () => messages.length === 2)
  t.strictSame(messages, ['READY=1,STATUS=every process is ready', 'STOPPING=1,STATUS=draining'])

  openServiceManager({}, log).ready()
  t.strictSame(lines, [])
  const gone = openServiceManager({ NOTIFY_SOCKET: '/none/notify' }, log)
  gone.ready()
  gone.stopping()
  t.equal(lines.length, 1, 'a failure is logged once')
})
