import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { RefusedClientReport, RefusedClientStart } from '../fixtures/clients/refused-client.js'
import { call } from '../fixtures/processes/deployment.js'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import { askAdmin } from '../fixtures/dashboard/admin.js'
import { scriptPath } from '../fixtures/repository.js'
import { until } from '../fixtures/until.js'

/**
 * A client that spins uses this up within seconds, and its process aborts. web3.js takes 160 MB for
 * a moment to subscribe 1,040 times, also where none is refused.
 */
const HEAP_MB = 320
const RSS_BYTES_MAX = 448 * 1024 ** 2
/** How long the clients are watched once they are refused. */
const WATCH_MS = 4_000
/** Processor time of a client in that time. One that spins takes all of it. */
const CPU_MS_MAX = 1_500
/** Linux counts processor time in ticks of 10 ms. */
const TICK_MS = 10
/** Eight clients start at once, and have two processors. */
const ANSWER_MS_MAX = 20_000

const deployment = await sharedBusySandbox()
const { port } = deployment
const WIDE = { requestsPerSecondMax: 100_000, requestsBurstMax: 100_000, socketsMax: 100 }

/** A token of an access of its own; `revoke` ends it. */
const makeToken = async (limits: Readonly<Record<string, number>> = {}) => {
  const { body } = await askAdmin(deployment, 'POST', '/accesses', {
    subject: 'refused',
    kind: 'pass',
    product: 'node-access',
    limits: { ...WIDE, ...limits },
  })
  const path = `/accesses/${String(body['accessId'])}/networks/sandbox/locations/fra/token`
  const { body: made } = await askAdmin(deployment, 'POST', path)
  const token = String(made['token'])
  return {
    rpcUrl: `http://127.0.0.1:${port}/${token}`,
    wsUrl: `ws://127.0.0.1:${port}/${token}`,
    revoke: () => askAdmin(deployment, 'DELETE', path),
  }
}

const cpuMsOf = (child: ChildProcess): number => {
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

const rssBytesOf = (child: ChildProcess): number => {
  const [, pages = '0'] = readFileSync(`/proc/${child.pid}/statm`, 'latin1').split(' ')
  return Number(pages) * 4_096
}

const startClient = async (t: Test, start: RefusedClientStart) => {
  const child = fork(scriptPath('test/fixtures/clients/refused-client'), [], {
    execArgv: [...process.execArgv, `--max-old-space-size=${HEAP_MB}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  child.send(start)
  const report = async (): Promise<RefusedClientReport> => {
    child.send('report')
    // One that spins does not answer.
    const [answer] = await once(child, 'message', { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    return answer as RefusedClientReport
  }
  /** Watches it, and returns what it has seen meanwhile. */
  const watch = async () => {
    const before = await report()
    const slot = Number(await call(deployment.url, 'getSlot', []))
    const cpuMs = cpuMsOf(child)
    await sleep(WATCH_MS)
    const usedMs = cpuMsOf(child) - cpuMs
    const passedCount = Number(await call(deployment.url, 'getSlot', [])) - slot
    const after = await report()
    t.comment(`${usedMs} ms of processor time, ${rssBytesOf(child) >> 20} MiB`)
    t.ok(usedMs < CPU_MS_MAX, `${usedMs} ms of processor time in ${WATCH_MS} ms`)
    t.ok(rssBytesOf(child) < RSS_BYTES_MAX, `${rssBytesOf(child)} bytes`)
    t.equal(child.exitCode, null, 'it is alive')
    return {
      slots: after.slotCount - before.slotCount,
      /** Half of those that the chain has made, fewer on a busy machine. */
      slotsMin: passedCount / 2,
      errors: after.errorCount - before.errorCount,
      after,
    }
  }
  return { report, watch }
}

t.test('stock clients survive every refusal', { jobs: 8 }, async t => {
  void t.test('1,040 subscriptions of web3.js where 1,000 are allowed', async t => {
    const { rpcUrl, wsUrl } = await makeToken({ subscriptionsPerSocketMax: 1_000 })
    const start = { client: 'web3.js', accountCount: 1_040, failingCount: 0 } as const
    const { report, watch } = await startClient(t, { ...start, rpcUrl, wsUrl })
    await until('1,000 are', async () => (await report()).subscribedCount === 1_000)
    const { slots, slotsMin, errors, after } = await watch()
    t.ok(slots > slotsMin, `${slots} slots: the socket stays`)
    t.equal(after.subscribedCount, 1_000)
    t.ok(errors > 0 && errors < 250, `${errors} errors`)
  })

  void t.test('a loop of failing subscribes of web3.js', async t => {
    const { rpcUrl, wsUrl } = await makeToken()
    const start = { client: 'web3.js', accountCount: 5, failingCount: 30 } as const
    const { report, watch } = await startClient(t, { ...start, rpcUrl, wsUrl })
    await until('its others are there', async () => (await report()).subscribedCount === 6)
    const { slots, slotsMin, errors } = await watch()
    t.ok(slots > slotsMin, `${slots} slots`)
    t.ok(errors > 0 && errors < 250, `${errors} errors`)
  })

  void t.test('200 subscribes of web3.js at a rate of 50 a second', async t => {
    const limits = { requestsPerSecondMax: 50, requestsBurstMax: 50 }
    const { rpcUrl, wsUrl } = await makeToken(limits)
    const start = { client: 'web3.js', accountCount: 200, failingCount: 0 } as const
    const { report, watch } = await startClient(t, { ...start, rpcUrl, wsUrl })
    await until('it is refused', async () => (await report()).errorCount > 0)
    const { slots, slotsMin } = await watch()
    t.ok(slots > slotsMin, `${slots} slots`)
    await until('all are there', async () => (await report()).subscribedCount === 201)
  })

  void t.test('a token of web3.js that is revoked', async t => {
    const { rpcUrl, wsUrl, revoke } = await makeToken({ subscriptionsPerSocketMax: 100 })
    const start = { client: 'web3.js', accountCount: 140, failingCount: 10 } as const
    const { report, watch } = await startClient(t, { ...start, rpcUrl, wsUrl })
    await until('its others are there', async () => (await report()).subscribedCount === 100)
    await revoke()
    await until('it is closed', async () => (await report()).subscribedCount === 0)
    const { slots, errors } = await watch()
    t.equal(slots, 0)
    t.ok(errors > 0 && errors < 10, `${errors} attempts to connect, each with a 401`)
  })

  void t.test('a loop of failing subscribes of kit, then a revoked token', async t => {
    const { rpcUrl, wsUrl, revoke } = await makeToken()
    const start = { client: 'kit', accountCount: 0, failingCount: 8 } as const
    const { report, watch } = await startClient(t, { ...start, rpcUrl, wsUrl })
    await until('slots are there', async () => (await report()).slotCount > 0)
    const { slots, slotsMin, errors } = await watch()
    t.ok(slots > slotsMin, `${slots} slots`)
    t.ok(errors > 0 && errors < 250, `${errors} errors`)
    await revoke()
    const before = (await report()).errorCount
    await until('the reader is told', async () => (await report()).errorCount > before)
  })
})
