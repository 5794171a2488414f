// Usage for billing, compared with a load generator that counts its own requests.
import t from 'tap'
import { openCommands } from '../fixtures/processes/commands.js'
import { startDeployment, type Deployment } from '../fixtures/processes/deployment.js'
import { openSocket } from '../fixtures/server/socket.js'
import { ownDir } from '../fixtures/own-dir.js'
import { until } from '../fixtures/until.js'

const JSON_HEADERS = { 'content-type': 'application/json' }

/** What was sent and answered, by method: requests, errors, and those over a limit. */
class Ledger {
  readonly counts = new Map<string, [requests: number, errors: number, limited: number]>()

  add(method: string, isFailure: boolean, isLimited = false): void {
    const found = this.counts.get(method) ?? [0, 0, 0]
    found[0]++
    if (isFailure) found[1]++
    if (isLimited) found[2]++
    this.counts.set(method, found)
  }

  /** The rows of the CSV without their day. */
  rows(accessId: string, location: string): readonly string[] {
    return Array.from(this.counts, ([method, counts]) =>
      [accessId, 'sandbox', location, method, ...counts].join(','),
    ).toSorted()
  }
}

type Body = { readonly method: string; readonly params?: readonly unknown[] }

const toText = (calls: Body | readonly Body[]): string =>
  JSON.stringify(
    Array.isArray(calls)
      ? calls.map((one: Body, id) => ({ jsonrpc: '2.0', id, params: [], ...one }))
      : { jsonrpc: '2.0', id: 1, params: [], ...calls },
  )

/** Sends one message over a connection that any edge may take, and counts what it is answered. */
const send = async (
  url: string,
  calls: Body | readonly Body[],
  ledger: Ledger,
  methodOf = ({ method }: Body): string => method,
): Promise<void> => {
  const headers = { ...JSON_HEADERS, connection: 'close' }
  const answer = await fetch(url, { method: 'POST', headers, body: toText(calls) })
  const replies: unknown = await answer.json()
  if (answer.status === 429) return ledger.add('(none)', false, true)
  const list = Array.isArray(calls) ? (calls as readonly Body[]) : [calls as Body]
  for (const [index, reply] of [replies].flat().entries()) {
    const call = list[index]
    // What the upstream RPC refuses is an error, too.
    if (call !== undefined) ledger.add(methodOf(call), 'error' in Object(reply))
  }
}

const readCsv = async (run: ReturnType<typeof openCommands>, dataDir: string): Promise<string> => {
  const { code, output } = await run('usage', '--csv', '--data-dir', dataDir)
  if (code !== 0) throw new Error(output)
  return output
}

type Row = Readonly<Record<string, unknown>>

/** Rows of the CSV, by the names of its columns. */
const rowsOf = (csv: string): readonly Row[] => {
  const [names = [], ...rows] = csv
    .trim()
    .split('\r\n')
    .map(line => line.split(','))
  return rows.map(fields => Object.fromEntries(names.map((name, at) => [name, fields[at]])))
}

const sumOf = (rows: readonly Row[], accessId: string): readonly string[] => {
  const sums = new Map<string, number[]>()
  for (const row of rows) {
    const { access, network, location, method, requests, errors, rate_limited: limited } = row
    if (access !== accessId) continue
    const key = [access, network, location, method].join(',')
    // The test may run over midnight.
    const before = sums.get(key) ?? [0, 0, 0]
    const counts = [requests, errors, limited]
    sums.set(
      key,
      counts.map((count, index) => Number(count) + (before[index] ?? 0)),
    )
  }
  return Array.from(sums, ([key, counts]) => [key, ...counts].join(',')).toSorted()
}

const load = async (
  url: string,
  { samples }: Deployment['description'],
  ledger: Ledger,
): Promise<void> => {
  const address = samples['wallet'] ?? ''
  const rounds = Array.from({ length: 40 }, async (_, round) => {
    await send(url, { method: 'getAccountInfo', params: [address] }, ledger)
    await send(url, { method: 'getBalance', params: [round % 2 === 0 ? address : 'x'] }, ledger)
    await send(url, { method: 'getEpochInfo' }, ledger)
    await send(
      url,
      [{ method: 'getSlot' }, { method: 'getSlot' }, { method: 'noSuchMethod' }],
      ledger,
    )
    await send(`${url}/relay-bundle`, { method: 'getTipAccounts' }, ledger, () => '/relay-bundle')
    await send(`${url}/lander`, { method: 'sendTransaction' }, ledger, () => '/lander')
  })
  await Promise.all(rounds)
}

const loadSocket = async (url: string, ledger: Ledger): Promise<void> => {
  const { port, pathname } = new URL(url)
  const client = await openSocket(Number(port), { path: pathname })
  ledger.add('(connect)', false)
  for (const method of ['getSlot', 'slotSubscribe', 'getVersion', 'blockSubscribe']) {
    const reply = await client.call(method)
    ledger.add(method, 'error' in Object(reply))
    if (method === 'slotSubscribe') await client.call('slotUnsubscribe', [Object(reply).result])
    if (method === 'slotSubscribe') ledger.add('slotUnsubscribe', false)
  }
  client.destroy()
}

t.test('usage by day and method is what a client counted', async t => {
  const dataDir = ownDir(t)
  const args = ['--edges', '2', '--traffic', '0']
  let deployment = await startDeployment(t, { dataDir, args })
  const { description } = deployment
  const target = ['--data-dir', dataDir]
  const run = openCommands(t)
  const ask = async (...words: readonly string[]) => {
    const { code, output } = await run('access', ...words, ...target)
    if (code !== 0) throw new Error(output)
    return JSON.parse(output)
  }
  const { accessId } = await ask(
    ...['grant', '--subject', 'ada', '--product', 'node-access', '--limits'],
    'requestsPerSecondMax=100000,requestsBurstMax=100000,requestsInFlightMax=1000',
  )
  const scope = [accessId, 'sandbox', 'fra']
  const ledger = new Ledger()
  const { rpcUrl } = await ask('token', 'generate', ...scope)
  await load(rpcUrl, description, ledger)
  await loadSocket(rpcUrl, ledger)
  const csv = await readCsv(run, dataDir)
  t.ok(csv.startsWith('day,access,network,location,method,requests,errors,rate_limited'))
  t.strictSame(sumOf(rowsOf(csv), accessId), ledger.rows(accessId, 'fra'))

  await t.test('through a new token and the kill of an edge', async t => {
    const [edge = 0] = deployment.pidsOf('edge')
    process.kill(edge, 'SIGKILL')
    await until('it is back', () => {
      const pids = deployment.pidsOf('edge')
      return pids.length === 2 && !pids.includes(edge)
    })
    await until('both serve', async () => (await fetch(`${deployment.url}`)).status !== 0)
    const again = await ask('token', 'regenerate', ...scope)
    await load(again.rpcUrl, description, ledger)
    await run('access', 'token', 'revoke', ...scope, ...target)
    t.strictSame(sumOf(rowsOf(await readCsv(run, dataDir)), accessId), ledger.rows(accessId, 'fra'))
  })

  await t.test('through a restart, with requests over a limit, and by the admin API', async t => {
    t.equal(await deployment.stop(), 0)
    t.strictSame(
      sumOf(rowsOf(await readCsv(run, dataDir)), accessId),
      ledger.rows(accessId, 'fra'),
      'stopped',
    )
    deployment = await startDeployment(t, { dataDir, args })
    await ask('amend', accessId, '--limits', 'requestsPerSecondMax=1,requestsBurstMax=10')
    const { rpcUrl: url } = await ask('token', 'generate', ...scope)
    for (let count = 0; count < 30; count++) await send(url, { method: 'getSlot' }, ledger)
    t.ok((ledger.counts.get('(none)')?.[2] ?? 0) > 10)
    const rows = ledger.rows(accessId, 'fra')
    t.strictSame(sumOf(rowsOf(await readCsv(run, dataDir)), accessId), rows)
    const answer = await fetch(
      `${deployment.description.dashboardUrl}admin/usage?access=${accessId}&limit=1000`,
      { headers: { authorization: `Bearer ${deployment.description.adminToken}` } },
    )
    const page = (await answer.json()) as { rows: Row[]; next: unknown }
    const named = page.rows.map(({ accessId: access, rateLimited, ...row }) =>
      Object.assign(row, { access, rate_limited: rateLimited }),
    )
    t.strictSame(sumOf(named, accessId), rows)
    t.equal(page.next, null)
    t.equal(await deployment.stop(), 0)
  })
})
