// What the machines of a cluster know of each other: usage and submissions of all of them.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openIdentityProvider } from '../../../src/sandbox/identity/provider.js'
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import {
  operate,
  prepareMachine,
  tokenPath,
  type TestMachine,
} from '../../fixtures/cluster/machine.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { ADA } from '../../fixtures/dashboard/dashboard.js'
import { openCommands } from '../../fixtures/processes/commands.js'
import type { Service } from '../../fixtures/processes/deployment.js'
import { requirePid } from '../../fixtures/processes/require-pid.js'
import { isSoak, latencyMax } from '../../fixtures/soak.js'
import { signaturesOf } from '../../fixtures/submission/relay-engine.js'
import { sendBundle, TIPS, toBundle } from '../../fixtures/submission/relay.js'
import { until } from '../../fixtures/until.js'
import { freePorts } from '../../fixtures/free-ports.js'

type Running = TestMachine & { readonly service: Service }

const PEER_MS = 300
/** What a busy computer may add. */
const BUSY_MS = isSoak ? 700 : 3_000
const DAYS_MS = 1_000
const CLIENT = { clientId: 'machines', clientSecret: 'secret-of-machines' }
const RELAY = {
  upstream: { urls: ['http://127.0.0.1:1'] },
  serviceTipAddresses: TIPS['/relay-bundle'].service,
  engineTipAddresses: TIPS['/relay-bundle'].engine,
}

/** A machine of the location fra with the dashboard, another one, and one in another city. */
const openMachines = async (t: Test): Promise<readonly [Running, Running, Running]> => {
  const etcd = await openEtcd(t, 1)
  const firstPort = await freePorts()
  const redirectUris = [`http://127.0.0.1:${firstPort + 3}/callback`]
  const provider = await openIdentityProvider({ users: [ADA], ...CLIENT, redirectUris })
  t.teardown(() => provider.close())
  const network = { relayBundle: RELAY }
  const identity = { issuer: provider.issuer, ...CLIENT }
  const cluster = { peerDaysMs: DAYS_MS }
  const first = await prepareMachine(t, etcd, {
    id: 'fra-1',
    location: 'fra',
    cluster,
    network,
    dashboard: { identity, operators: [ADA.subject] },
    firstPort,
  })
  const others = [
    await prepareMachine(t, etcd, { id: 'fra-2', location: 'fra', network }),
    await prepareMachine(t, etcd, { id: 'nyc-1', location: 'nyc', network }),
  ] as const
  for (const command of [
    ['init'],
    ['add', 'fra-1', '--location', 'fra', '--control'],
    ['add', 'fra-2', '--location', 'fra'],
    ['add', 'nyc-1', '--location', 'nyc'],
  ])
    t.match(await operate(t, etcd, first.configFile, ...command), { code: 0 })
  const start = async (machine: TestMachine): Promise<Running> => ({
    ...machine,
    service: await machine.start(),
  })
  return [await start(first), await start(others[0]), await start(others[1])]
}

/** A call of a relay route; the id of the submission is in the headers of the answer. */
const relay = async (
  { port }: TestMachine,
  token: string,
  body: string,
): Promise<{ readonly id: string; readonly result: unknown; readonly tookMs: number }> => {
  const startedMs = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}/${token}/relay-bundle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  const { result } = (await response.json()) as { readonly result?: unknown }
  const tookMs = performance.now() - startedMs
  return { id: response.headers.get('x-relay-submission-id') ?? '', result, tookMs }
}

/** A query of the location's URL by a signature. */
const findSigned = async ({ port }: TestMachine, token: string, key: string): Promise<unknown> => {
  const headers = { 'content-type': 'application/json' }
  const body = findBody(key)
  const response = await fetch(`http://127.0.0.1:${port}/${token}`, {
    method: 'POST',
    headers,
    body,
  })
  return ((await response.json()) as { readonly result?: unknown }).result
}

const findBody = (id: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSubmission', params: [id] })

t.test('three machines', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const machines = await openMachines(t)
  const [first, second, far] = machines
  for (const machine of machines)
    await until(`${machine.id} holds a lease`, async () => (await machine.health()) === 'unknown')

  const granted = await first.admin('POST', '/accesses', {
    subject: ADA.subject,
    product: 'node',
    kind: 'pass',
  })
  const accessId = String(granted.body['accessId'])
  const tokenOf = async (location: string): Promise<string> => {
    const { body } = await first.admin('POST', tokenPath(accessId, location))
    return String(body['token'])
  }
  const [token, farToken] = [await tokenOf('fra'), await tokenOf('nyc')]
  const ada = new DashboardClient(first.dashboardUrl)
  await ada.signIn(ADA)
  const read = async (path: string) => {
    const startedMs = performance.now()
    const { json } = await ada.ask(`/api/accesses/${accessId}/${path}`)
    return { json: json as Record<string, unknown>, tookMs: performance.now() - startedMs }
  }
  /** A busy machine does not answer in time each time. */
  const readWhole = async (path: string): ReturnType<typeof read> => {
    let found = await read(path)
    await until('each machine answers', async () => {
      if (Array.isArray(found.json['missing']) && found.json['missing'].length === 0) return true
      found = await read(path)
      return false
    })
    return found
  }
  const tokenUsage = 'networks/main/locations/fra/usage'
  const requestsOf = (json: Record<string, unknown>): number =>
    (json['minutes'] as { readonly requests: number }[]).reduce((sum, one) => sum + one.requests, 0)

  await t.test('usage of an access is the sum of all machines', async t => {
    for (let count = 0; count < 3; count++) await first.status(token)
    for (let count = 0; count < 4; count++) await second.status(token)
    for (let count = 0; count < 5; count++) await far.status(farToken)
    await until('the other machines are known, and a second is over', async () => {
      const { json } = await read('usage')
      const { missing, peak } = json
      return Array.isArray(missing) && missing.length === 0 && peak !== null
    })
    const { json } = await readWhole(tokenUsage)
    t.equal(requestsOf(json), 7, 'of the machines of its location')
    const { json: ofAccess } = await readWhole('usage')
    t.match(ofAccess, { requestsInFlight: 0, sockets: 0, missing: [] })
    t.ok(Number(ofAccess['requestsPerSecond']) >= 0.2, '12 requests within a minute')
    const { perSecond, atMs } = ofAccess['peak'] as { perSecond: number; atMs: number }
    t.ok(perSecond >= 1 && perSecond <= 12.5, `a peak of ${perSecond}`)
    t.ok(Math.abs(Date.now() - atMs) < 60_000)
  })

  const run = openCommands(t)
  const printUsage = async (...args: readonly string[]) => {
    const { code, output } = await run('usage', '--config', first.configFile, ...args)
    const rows = output
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as { readonly location: string; readonly requests: number })
    const of = (location: string): number =>
      rows.filter(row => row.location === location).reduce((sum, row) => sum + row.requests, 0)
    return { code, output, fra: of('fra'), nyc: of('nyc'), rows: rows.length }
  }

  await t.test('usage by day is the sum of all machines', async t => {
    t.match(await printUsage(), { code: 0, fra: 7, nyc: 5, rows: 2 })
    t.match(await printUsage('--machine'), { code: 0, fra: 3, nyc: 0, rows: 1 })
    t.match(await printUsage('--access', accessId), { code: 0, fra: 7, nyc: 5 })
    t.match(await printUsage('--access', 'acc_none'), { code: 0, rows: 0 })
    t.match(await printUsage('--until', '2020-01-01'), { code: 0, rows: 0 })
    const day = new Date().toISOString().slice(0, 10)
    t.match(await printUsage('--from', day), { fra: 7, nyc: 5 })
  })

  type Counts = { readonly requests: number; readonly errors: number }
  const sumOf = (of: unknown): readonly number[] => {
    const counts = of as readonly Counts[]
    const sum = (key: keyof Counts) => counts.reduce((total, one) => total + one[key], 0)
    return [sum('requests'), sum('errors')]
  }
  /** What the page shows of the access: each number is of all machines that answer. */
  const readAll = async () => {
    const nowMs = Date.now()
    const range = `from=${nowMs - 2 * 86_400_000}&until=${nowMs + 86_400_000}`
    const [hours, days, methods, failures] = await Promise.all(
      [
        `${tokenUsage}/periods?grain=hour&${range}`,
        `${tokenUsage}/periods?grain=day&${range}`,
        `${tokenUsage}/methods?days=1`,
        'failures?limit=50',
      ].map(async path => (await read(path)).json),
    )
    const overview = (await ada.ask('/api/overview')).json as Record<string, unknown>
    const scopes = overview['scopes'] as { location: string; hour: Counts; day: Counts }[]
    const trafficOf = (location: string) => {
      const scope = scopes.find(one => one.location === location)
      return { hour: scope?.hour.requests, day: scope?.day.requests }
    }
    const listed = failures?.['failures'] as { readonly location: string }[]
    return {
      hours: sumOf(hours?.['periods']),
      days: sumOf(days?.['periods']),
      methods: sumOf(methods?.['methods']),
      failures: {
        fra: listed.filter(({ location }) => location === 'fra').length,
        all: listed.length,
      },
      traffic: { fra: trafficOf('fra'), nyc: trafficOf('nyc') },
      missing: [hours, days, methods, failures, overview].map(one => one?.['missing']),
    }
  }

  await t.test('each number of the page is the sum of all machines', async t => {
    // Every request fails: no machine has an index.
    const expected = {
      hours: [7, 7],
      days: [7, 7],
      methods: [7, 7],
      failures: { fra: 7, all: 12 },
      traffic: { fra: { hour: 7, day: 7 }, nyc: { hour: 5, day: 5 } },
      missing: [[], [], [], [], []],
    }
    let found = await readAll()
    await until('all counts are stored, and each machine answers in time', async () => {
      const { failures, traffic, missing } = found
      if (failures.all >= 12 && (traffic.nyc.day ?? 0) >= 5 && missing.flat().length === 0)
        return true
      found = await readAll()
      return false
    })
    t.strictSame(found, expected)
    const control = requirePid(second.service.pidsOf('control')[0])
    process.kill(control, 'SIGSTOP')
    // A page shows the traffic of a person for up to 4 s.
    let last = await readAll()
    await until('the overview is read again', async () => {
      last = await readAll()
      return last.traffic.fra.day !== 7
    })
    process.kill(control, 'SIGCONT')
    t.strictSame(last, {
      ...expected,
      hours: [3, 3],
      days: [3, 3],
      methods: [3, 3],
      failures: { fra: 3, all: 8 },
      traffic: { fra: { hour: 3, day: 3 }, nyc: { hour: 5, day: 5 } },
      missing: Array.from({ length: 5 }, () => ['fra-2']),
    })
    await until('the other one answers again', async () => {
      const { missing } = (await read(tokenUsage)).json
      return Array.isArray(missing) && missing.length === 0
    })
  })

  const submit = (machine: TestMachine, own: string) =>
    relay(machine, own, sendBundle('/relay-bundle', ['AAAA']))

  /** Look-ups at the first machine that were repeated, each one more request that it counts. */
  let repeatedCount = 0
  await t.test('a submission is found at any machine of its location', async t => {
    const { id } = await submit(second, token)
    const own = await relay(second, token, findBody(id))
    t.match(own.result, { submissionId: id, outcome: 'invalid', location: 'fra' })
    // The other machine waits for what is not stored yet, but not long.
    let there = await relay(first, token, findBody(id))
    await until('it is stored', async () => {
      if (there.result !== null) return true
      there = await relay(first, token, findBody(id))
      repeatedCount++
      return there.result !== null
    })
    t.strictSame(there.result, own.result, `found in ${there.tookMs.toFixed(0)} ms`)
    t.notMatch(JSON.stringify(there.result), /tokenId|accessId/)
    const { body } = await first.admin('POST', '/accesses', {
      subject: 'ben',
      product: 'node',
      kind: 'pass',
    })
    const { body: made } = await first.admin('POST', tokenPath(String(body['accessId']), 'fra'))
    const stolen = await relay(first, String(made['token']), findBody(id))
    t.equal(stolen.result, null, 'of another access it is not found')
    const texts = toBundle('/relay-bundle', 'signed', 1)
    const [signature = ''] = signaturesOf(texts)
    const signed = await relay(second, token, sendBundle('/relay-bundle', texts))
    // At once: the other machine waits for it, too. A busy one may take longer than `peerMs`.
    let found = await findSigned(first, token, signature)
    await until('the other machine answers in time', async () => {
      if (found !== null) return true
      found = await findSigned(first, token, signature)
      repeatedCount++
      return found !== null
    })
    const expected = { submissionId: signed.id, transactions: [{ signature }] }
    t.match(found, expected, `by its signature, with ${repeatedCount} look-ups repeated`)
    t.match(await findSigned(second, token, signature), expected)
    t.equal(await findSigned(first, String(made['token']), signature), null)
    t.equal((await relay(far, farToken, findBody(id))).result, null, 'nor at another location')
  })

  await t.test('the newest submissions of all machines are listed', async t => {
    const ids = [
      await submit(far, farToken),
      await submit(first, token),
      await submit(second, token),
    ].map(({ id }) => id)
    let listed: readonly unknown[] = []
    await until('all are stored', async () => {
      const { json } = await read('submissions?limit=3')
      listed = (json['submissions'] as { readonly submissionId: string }[]).map(
        ({ submissionId }) => submissionId,
      )
      return ids.every(id => listed.includes(id))
    })
    t.strictSame(listed, ids.toReversed(), 'newest first')
    const count = async (query: string): Promise<number> =>
      ((await read(`submissions?${query}`)).json['submissions'] as object[]).length
    const fromMs = Number.parseInt(String(ids[1]).replace('-', '').slice(0, 12), 16)
    t.equal(await count(`location=fra&fromMs=${fromMs}`), 2, 'each machine takes every filter')
    t.equal(await count(`location=nyc&untilMs=${fromMs}&fromMs=${fromMs - 60_000}`), 1)
  })

  type AuditEntry = { readonly machine: string; readonly request?: { readonly name?: string } }
  type AuditPage = { entries: readonly AuditEntry[]; next: number | null; missing: string[] }
  const readAudit = async (query: string): Promise<AuditPage> =>
    (await ada.ask(`/api/operator/audit?${query}`)).json as AuditPage

  await t.test('operators read the audit logs of all machines as one', async t => {
    for (const [index, { admin }] of [second, first, far, second].entries()) {
      const body = { name: `token-${index}`, role: 'read' }
      t.equal((await admin('POST', '/tokens', body)).status, 201)
      await sleep(2)
    }
    const made: string[] = []
    let before = Date.now() + 1_000
    await until('all pages are read, with each machine', async () => {
      const { entries, missing, next } = await readAudit(`limit=2&before=${before}`)
      if (missing.length > 0) return false
      for (const { machine, request } of entries)
        if (request?.name !== undefined) made.push(`${machine} ${request.name}`)
      before = next ?? before
      return next === null
    })
    t.strictSame(made, ['fra-2 token-3', 'nyc-1 token-2', 'fra-1 token-1', 'fra-2 token-0'])
  })

  await t.test('a machine that does not answer is named, in time', async t => {
    const control = requirePid(second.service.pidsOf('control')[0])
    process.kill(control, 'SIGSTOP')
    const { json, tookMs } = await read(tokenUsage)
    t.strictSame(json['missing'], ['fra-2'])
    t.equal(requestsOf(json), 6 + repeatedCount, 'what this machine has counted')
    t.ok(tookMs >= PEER_MS - 10 && tookMs < PEER_MS + BUSY_MS, `${tookMs.toFixed(0)} ms`)
    // The machine of the other location may take longer than `PEER_MS` once.
    for (const path of ['usage', 'submissions'])
      await until(`only that machine is missing in ${path}`, async () => {
        const { missing } = (await read(path)).json
        return JSON.stringify(missing) === '["fra-2"]'
      })
    const rest = await readAudit('limit=100')
    t.ok(rest.missing.includes('fra-2') && rest.entries.some(({ machine }) => machine === 'fra-1'))
    const partial = await printUsage()
    // With the two submissions of the test before.
    t.match(partial, { code: 1, nyc: 7 })
    t.match(partial.output, /^slotline: fra-2 did not answer: the counts lack theirs; repeat it, /m)
    const { id } = await submit(second, token)
    const lost = await relay(first, token, findBody(id))
    t.equal(lost.result, null)
    t.ok(lost.tookMs < PEER_MS + BUSY_MS, `${lost.tookMs.toFixed(0)} ms`)
    process.kill(control, 'SIGCONT')
    await until('it answers', async () => {
      const { result } = await relay(first, token, findBody(id))
      return result !== null
    })
    const own = requirePid(first.service.pidsOf('control')[0])
    process.kill(own, 'SIGSTOP')
    const without = await relay(first, token, findBody(id))
    t.equal(without.result, null, 'without control of its own machine it is not found')
    t.ok(without.tookMs < PEER_MS + BUSY_MS, `${without.tookMs.toFixed(0)} ms`)
    const { id: mine } = await submit(first, token)
    const tries = []
    for (let nth = 0; nth < 5; nth++) tries.push(await relay(first, token, findBody(mine)))
    for (const { result } of tries) t.match(result, { submissionId: mine })
    const ownMs = Math.min(...tries.map(({ tookMs }) => tookMs))
    t.ok(
      ownMs < latencyMax(PEER_MS / 2),
      `what this machine knows needs no other: ${ownMs.toFixed(0)} ms`,
    )
    process.kill(own, 'SIGCONT')
  })
})
