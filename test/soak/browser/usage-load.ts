// The numbers of the page, compared with those of a load generator that counts its own requests.
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import {
  look,
  openBrowser,
  openVisit,
  saveScreenshot,
  show,
  signIn,
  VIEW,
} from '../../fixtures/dashboard/browser.js'
import { runToEnd, startDeployment } from '../../fixtures/processes/deployment.js'
import { LIMIT_NAMES } from '../../../src/shared/access-limits.js'
import { openSocket, SocketRefusal } from '../../fixtures/server/socket.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'
import { LoadLedger, parseDuration, type By } from '../../fixtures/usage/load-ledger.js'

const ROUNDS = 150

type Call = { readonly method: string; readonly params?: readonly unknown[] }

const callsOf = (wallet: string): readonly Call[] => [
  { method: 'getAccountInfo', params: [wallet] },
  { method: 'getAccountInfo', params: [wallet] },
  { method: 'getLatestBlockhash', params: [] },
  { method: 'getBalance', params: [wallet] },
  { method: 'getBalance', params: ['x'] },
  { method: 'getTokenSupply', params: [wallet] },
  { method: 'getVersion', params: [] },
]

/** Sends one body over connections that stay open, and counts what is answered. */
const post = async (
  url: string,
  ledger: LoadLedger,
  body: Call | readonly Call[] | object,
  by?: By,
): Promise<void> => {
  const calls = [body].flat() as Partial<Call>[]
  const texts = calls.map((one, id) => ({ jsonrpc: '2.0', id, ...one }))
  const sentMs = performance.now()
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(Array.isArray(body) ? texts : texts[0]),
  })
  const found: unknown = await answer.json()
  // One that is over a limit is not read: it is one request.
  if (answer.status === 429) return ledger.add('(none)', found, { isLimited: true })
  const elapsedMs = performance.now() - sentMs
  for (const [nth, reply] of [found].flat().entries()) {
    const { method } = calls[nth] ?? {}
    const outcome = { ...(method !== undefined && { elapsedMs }), ...(by !== undefined && { by }) }
    ledger.add(method ?? '(none)', reply, outcome)
  }
}

/** The compiled server answers most point reads of it. */
const loadHttp = async (url: string, wallet: string, ledger: LoadLedger): Promise<void> => {
  const round = async (): Promise<void> => {
    for (const one of callsOf(wallet)) await post(url, ledger, one)
    await post(url, ledger, [{ method: 'getSlot' }, { method: 'getSlot' }, { method: 'getHealth' }])
    await post(url, ledger, {})
  }
  for (let count = 0; count < ROUNDS; count += 10)
    await Promise.all(Array.from({ length: 10 }, round))
}

const connect = async (url: string, ledger: LoadLedger) => {
  const { port, pathname } = new URL(url)
  const client = await openSocket(Number(port), { path: pathname })
  ledger.add('(connect)', {})
  const call = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const sentMs = performance.now()
    const reply = await client.call(method, [...params])
    ledger.add(method, reply, { elapsedMs: performance.now() - sentMs })
    return Object(reply).result
  }
  return { call, close: () => client.destroy() }
}

const loadSocket = async (url: string, wallet: string, ledger: LoadLedger): Promise<void> => {
  const { call, close } = await connect(url, ledger)
  for (let count = 0; count < ROUNDS; count++)
    for (const { method, params } of callsOf(wallet)) await call(method, params)
  await call('slotUnsubscribe', [await call('slotSubscribe')])
  close()
}

const load = async (url: string, wallet: string, ledger: LoadLedger): Promise<void> => {
  await Promise.all([
    loadHttp(url, wallet, ledger),
    loadSocket(url, wallet, ledger),
    loadSocket(url, wallet, ledger),
  ])
}

/** Fails in each way a few times: each failed request is listed. */
const failALittle = async (
  url: string,
  ledger: LoadLedger,
  setUpstream: (fault: object) => Promise<void>,
): Promise<void> => {
  for (let count = 0; count < 7; count++)
    await post(url, ledger, { method: 'getBalance', params: ['x'] })
  for (let count = 0; count < 5; count++)
    await post(url, ledger, { method: 'getNothing' }, 'Upstream')
  for (let count = 0; count < 4; count++) await post(url, ledger, {})
  await setUpstream({ status: 503, body: 'busy', contentType: 'text/plain', times: 3 })
  for (let count = 0; count < 3; count++) await post(url, ledger, { method: 'getEpochSchedule' })
  await setUpstream({ clear: true })
}

/** Calls that take as long as the upstream waits, most of them the shortest time. */
const loadSlowly = async (
  url: string,
  ledger: LoadLedger,
  setUpstream: (fault: object) => Promise<void>,
): Promise<void> => {
  for (const [delayMs, times] of [
    [60, 20],
    [140, 10],
    [400, 2],
  ]) {
    await setUpstream({ delayMs })
    for (let count = 0; count < (times ?? 0); count++)
      await post(url, ledger, { method: 'getGenesisHash' })
  }
  await setUpstream({ clear: true })
}

/** Exceeds each limit. */
const exceed = async (
  { url, wallet }: { readonly url: string; readonly wallet: string },
  ledger: LoadLedger,
  amend: (limits: string) => Promise<void>,
): Promise<void> => {
  const batch = Array.from({ length: 60 }, () => ({ method: 'getSlot' }))
  await amend('requestsPerSecondMax=1000,requestsBurstMax=50')
  for (let count = 0; count < 6; count++) await post(url, ledger, batch)
  await amend('requestsPerSecondMax=100000,requestsBurstMax=100000,requestsInFlightMax=0')
  for (let count = 0; count < 5; count++) await post(url, ledger, { method: 'getSlot' })
  await amend('requestsInFlightMax=1000,socketsMax=1,subscriptionsPerSocketMax=2')
  const { call, close } = await connect(url, ledger)
  for (let count = 0; count < 4; count++)
    await connect(url, ledger).catch((refused: unknown) => {
      if (!(refused instanceof SocketRefusal) || refused.status !== 429) throw refused
      ledger.add('(connect)', JSON.parse(refused.body), { isLimited: true })
    })
  for (let length = 1; length <= 5; length++) {
    const options = { encoding: 'base64', dataSlice: { offset: 0, length } }
    const id = await call('accountSubscribe', [wallet, options])
    if (id === undefined) ledger.addLimit('subscriptionsPerSocketMax')
  }
  close()
  await amend('socketsMax=100,requestsPerSecondMax=1,requestsBurstMax=10')
  for (let count = 0; count < 30; count++) await post(url, ledger, { method: 'getSlot' })
  await amend('requestsPerSecondMax=100000,requestsBurstMax=100000')
}

/** The first cells of the rows of a table. */
const rowsOf = async (card: Locator, cells: readonly number[]): Promise<readonly string[]> => {
  const rows: string[] = []
  for (const row of await card.locator('tbody tr').all()) {
    const texts = await row.locator('th, td').allInnerTexts()
    rows.push(cells.map(at => (texts.at(at) ?? '').split(/\s*\n\s*/).join(' ')).join(' | '))
  }
  return rows
}

/** As a person types it, whose browser has this time zone. */
const toLocal = (atMs: number): string =>
  new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

const tileOf = async (page: Page, name: string): Promise<string> =>
  page.locator('.tile').filter({ hasText: name }).locator('dd').innerText()

const regionOf = (page: Page, name: string): Locator =>
  page.getByRole('region', { name, exact: true })

/** Compares what is shown of the chosen time. */
const equal = async (t: Test, page: Page, ledger: LoadLedger, when: string): Promise<void> => {
  const methods = regionOf(page, 'By method')
  const methodRows = async () => (await rowsOf(methods, [0, 1, 2, 3])).toSorted()
  await until(`the requests of ${when} are shown`, async () => {
    const shown = await tileOf(page, 'Requests')
    return (
      shown === ledger.sum('requests').toLocaleString('en') &&
      (await methodRows()).join() === ledger.methodRows.join()
    )
  })
  for (const [name, figure] of [
    ['Errors', 'errors'],
    ['Over a limit', 'limited'],
  ] as const)
    t.equal(await tileOf(page, name), ledger.sum(figure).toLocaleString('en'), `${name}, ${when}`)
  t.strictSame(await methodRows(), ledger.methodRows, when)
  const codes = await rowsOf(regionOf(page, 'Errors by code'), [0, 1])
  const bare = codes.map(row =>
    row.replace(/: show the failed requests ?/, '').replace('  |', ' |'),
  )
  t.strictSame(bare.toSorted(), ledger.codeRows, `errors by code, ${when}`)
  const limits = await rowsOf(regionOf(page, 'Over a limit'), [0, -1])
  const named = limits.map(row => row.replace(/ (?:HTTP|Error).*? \|/, ' |'))
  t.strictSame(named, ledger.limitRows, `429s by limit, ${when}`)
  for (const row of await methods.locator('tbody tr').all()) {
    const [name = '', , , , ...shown] = await row.locator('th, td').allInnerTexts()
    if (!ledger.durations.has(name)) continue
    for (const [nth, share] of [0.5, 0.95, 0.99].entries()) {
      // Only of calls that wait is the time outside the service small.
      const outsideMs = name === 'getGenesisHash' ? 12 : Infinity
      const { fromMs, untilMs } = ledger.durationOf(name, share, outsideMs)
      const ms = parseDuration(shown[nth] ?? '')
      const text = `${name}: ${ms} ms of ${share} are in ${fromMs} to ${untilMs}, ${when}`
      // Texts have two digits at least.
      t.ok(ms > 0 && ms >= fromMs * 0.95 && ms <= untilMs * 1.05, text)
    }
  }
}

/** Compares what is shown of each time that has it all. */
const agree = async (
  t: Test,
  page: Page,
  ledger: LoadLedger,
  { after, startMs }: { readonly after: string; readonly startMs: number },
): Promise<void> => {
  // The page loads its numbers again when it is opened.
  await page.reload()
  await page.getByLabel('From', { exact: true }).fill(toLocal(startMs))
  await page.waitForURL(/from=\d+&until=\d+/)
  await equal(t, page, ledger, `${after}, a chosen time`)
  for (const range of ['15 minutes', '24 hours', '7 days']) {
    await page.getByRole('radio', { name: range }).check()
    // Of the chosen time until the present minute.
    const now = page.getByRole('button', { name: 'Now' })
    if (await now.isVisible()) await now.press('Enter')
    await equal(t, page, ledger, `${after}, ${range}`)
  }
}

const browser = isSoak ? await openBrowser(t) : undefined
if (browser !== undefined)
  await t.test('the page shows what a load generator counted', { timeout: 300_000 }, async t => {
    const dataDir = ownDir(t)
    const args = ['--edges', '2', '--traffic', '0']
    const deployment = await startDeployment(t, { dataDir, args })
    const { dashboardUrl, samples, upstreamRpcUrl } = deployment.description
    const wallet = samples['wallet'] ?? ''
    const run = async (...words: readonly string[]): Promise<string> => {
      const { code, output } = await runToEnd(t, ['access', ...words, '--data-dir', dataDir])
      if (code !== 0) throw new Error(output)
      return output
    }
    const ask = async (...words: readonly string[]) => JSON.parse(await run(...words))
    const grant = async (label: string): Promise<string> => {
      const many = 'requestsPerSecondMax=100000,requestsBurstMax=100000,requestsInFlightMax=1000'
      const by = ['--subject', 'sandbox', '--product', 'node-access', '--label', label]
      return (await ask('grant', ...by, '--limits', many)).accessId
    }
    const setUpstream = async (fault: object): Promise<void> => {
      const init = { method: 'POST', body: JSON.stringify(fault) }
      t.equal((await fetch(`${upstreamRpcUrl}/_control`, init)).status, 200)
    }
    const [accessId, otherId] = [await grant('first'), await grant('second')]
    const amend = async (limits: string): Promise<void> => {
      await run('amend', accessId, '--limits', limits)
    }
    const scope = [accessId, 'sandbox', 'fra']
    const startMs = Date.now()
    const ledger = new LoadLedger()
    const few = new LoadLedger(ledger)
    const { rpcUrl } = await ask('token', 'generate', ...scope)
    await failALittle(rpcUrl, few, setUpstream)
    await exceed({ url: rpcUrl, wallet }, few, amend)
    await loadSlowly(rpcUrl, few, setUpstream)

    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ada')
    await page.goto(`${dashboardUrl}#/access/${accessId}`)
    const failures = page.locator('.failures > li')
    await t.test('each failed request is in a group by method, code and origin', async t => {
      await agree(t, page, few, { after: 'of each a few', startMs })
      for (const limit of LIMIT_NAMES) t.ok(few.limits.get(limit), `${limit} was exceeded`)
      await failures.first().waitFor()
      const groups = regionOf(page, 'Groups of failed requests')
      const rows = (await rowsOf(groups, [0, 1])).toSorted()
      t.strictSame(rows, few.failureRows)
      await page.getByRole('radio', { name: 'Address' }).check()
      const all = [...few.failures.values()].reduce((sum, count) => sum + count, 0)
      t.strictSame(await rowsOf(groups, [0, 1]), [`127.0.0.1 | ${all}`])
    })

    const nextMs = Math.ceil(Date.now() / 60_000) * 60_000
    await until('the minute has ended', () => Date.now() >= nextMs, 70_000)
    const later = new LoadLedger(ledger)
    await load(rpcUrl, wallet, later)
    await t.test('many requests, and each minute has its own', async t => {
      await agree(t, page, ledger, { after: 'by HTTP and WebSocket', startMs })
      for (const [fromMs, untilMs, part, when] of [
        [startMs, nextMs, few, 'the minutes before'],
        [nextMs, nextMs + 300_000, later, 'the minutes after'],
      ] as const) {
        await page.goto(`${dashboardUrl}#/access/${accessId}?from=${fromMs}&until=${untilMs}`)
        await equal(t, page, part, when)
      }
      await page.goto(`${dashboardUrl}#/access/${accessId}`)
    })
    await failures.nth(49).waitFor()
    t.equal(await failures.count(), 50)
    await page.getByRole('button', { name: 'Show up to 1,000' }).press('Enter')
    await failures.nth(999).waitFor()
    t.equal(await failures.count(), 1_000, 'the newest ones')
    const texts = new Set(
      (await failures.allInnerTexts()).map(text => text.replace(/^.*?\d\d:\d\d:\d\d\s*/, '')),
    )
    for (const text of texts) t.match(text, /-32600|-32602/)
    t.match([...texts].join('\n'), /getBalance\s+-32602\s+Invalid param: WrongSize\s+127\.0\.0\.1/)
    t.notOk((await page.content()).includes(rpcUrl.slice(-38)), 'no token is in it')
    await look(t, page, 'failed-requests', [
      { width: 1280, scheme: 'light', hasForcedColors: true },
      { width: 360, scheme: 'light' },
    ])
    await show(page, VIEW)
    await saveScreenshot(page, 'failed-requests-1280-light')

    const [edge = 0] = deployment.pidsOf('edge')
    process.kill(edge, 'SIGKILL')
    await until('it is back', () => {
      const pids = deployment.pidsOf('edge')
      return pids.length === 2 && !pids.includes(edge)
    })
    const again = await ask('token', 'regenerate', ...scope)
    await until('it serves', async () => (await fetch(deployment.url)).status !== 0)
    await load(again.rpcUrl, wallet, ledger)
    await exceed({ url: again.rpcUrl, wallet }, ledger, amend)
    await run('token', 'revoke', ...scope)
    const after = 'through the kill of an edge, a new token, limits and a revocation'
    await agree(t, page, ledger, { after, startMs })
    await saveScreenshot(page, 'usage-of-a-load')
    t.strictSame(faults, [])
    await context.close()

    await t.test('the operator sees the sums, and those of each access', async t => {
      const other = new LoadLedger()
      const second = await ask('token', 'generate', otherId, 'sandbox', 'nyc')
      await failALittle(second.rpcUrl, other, setUpstream)
      const visit = await openVisit(browser)
      await visit.page.goto(`${dashboardUrl}#/operator/usage?range=day`)
      await signIn(visit.page, deployment, 'olga')
      const all = new LoadLedger()
      for (const one of [ledger, other]) all.addAll(one)
      await equal(t, visit.page, all, 'of the operator')
      const top = regionOf(visit.page, 'Top accesses')
      for (const [id, one] of [
        [accessId, ledger],
        [otherId, other],
      ] as const) {
        const row = top.locator('tbody tr').filter({ hasText: id })
        const cells = (await row.locator('td').allInnerTexts()).slice(0, 3)
        const shown = cells.map(text => text.split(/\s*\n\s*/).join(' ')).join(' | ')
        t.equal(shown, one.operatorRow, id)
      }
      await saveScreenshot(visit.page, 'operator-usage-of-a-load')
      t.strictSame(visit.faults, [])
      await visit.context.close()
    })
    t.equal(await deployment.stop(), 0)
  })
