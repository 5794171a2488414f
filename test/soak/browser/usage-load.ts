// The numbers of the page, compared with those of a load generator that counts its own requests.
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
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
import { openSocket } from '../../fixtures/server/socket.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { isSoak } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const ROUNDS = 150

type Counts = { requests: number; errors: number; limited: number; codes: Map<number, number> }

/** What was sent and answered, by the name that the page has for its method. */
class Ledger {
  readonly methods = new Map<string, Counts>()

  add(method: string, reply: unknown, isLimited = false): void {
    const none = { requests: 0, errors: 0, limited: 0, codes: new Map<number, number>() }
    const found = this.methods.get(method) ?? none
    this.methods.set(method, found)
    found.requests++
    if (isLimited) found.limited++
    const { error } = Object(reply) as { readonly error?: { readonly code: number } }
    if (error === undefined || isLimited) return
    found.errors++
    found.codes.set(error.code, (found.codes.get(error.code) ?? 0) + 1)
  }

  /** Rows as the page shows them. */
  get rows(): readonly string[] {
    return Array.from(this.methods, ([method, { requests, errors, limited, codes }]) => {
      const listed = [...codes].toSorted(([, one], [, other]) => other - one)
      const texts = listed.map(([code, count]) => `${code}: ${count.toLocaleString('en')}`)
      const counts = [requests, errors, limited].map(count => count.toLocaleString('en'))
      return [method, counts[0], [counts[1], ...texts].join(' '), counts[2]].join(' | ')
    }).toSorted()
  }

  sum(name: 'requests' | 'errors' | 'limited'): number {
    return [...this.methods.values()].reduce((sum, counts) => sum + counts[name], 0)
  }
}

type Call = { readonly method: string; readonly params: readonly unknown[] }

const callsOf = (wallet: string): readonly Call[] => [
  { method: 'getAccountInfo', params: [wallet] },
  { method: 'getAccountInfo', params: [wallet] },
  { method: 'getLatestBlockhash', params: [] },
  { method: 'getBalance', params: [wallet] },
  { method: 'getBalance', params: ['x'] },
  { method: 'getTokenSupply', params: [wallet] },
  { method: 'getVersion', params: [] },
]

/** Over connections that stay open, so that the compiled server answers most point reads. */
const loadHttp = async (url: string, wallet: string, ledger: Ledger): Promise<void> => {
  const post = async (body: string): Promise<Response> =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const round = async (): Promise<void> => {
    for (const { method, params } of callsOf(wallet)) {
      const answer = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      if (answer.status === 429) ledger.add('No method', await answer.json(), true)
      else ledger.add(method, await answer.json())
    }
    const batch = ['getSlot', 'getSlot', 'getHealth'].map((method, id) => ({
      jsonrpc: '2.0',
      id,
      method,
    }))
    const replies = (await (await post(JSON.stringify(batch))).json()) as unknown[]
    for (const [index, { method }] of batch.entries()) ledger.add(method, replies[index])
    const wrong = await post('{"jsonrpc":"2.0","id":1}')
    ledger.add('No method', await wrong.json())
  }
  for (let count = 0; count < ROUNDS; count += 10)
    await Promise.all(Array.from({ length: 10 }, round))
}

const loadSocket = async (url: string, wallet: string, ledger: Ledger): Promise<void> => {
  const { port, pathname } = new URL(url)
  const client = await openSocket(Number(port), { path: pathname })
  ledger.add('Opened WebSockets', {})
  for (let count = 0; count < ROUNDS; count++)
    for (const { method, params } of callsOf(wallet))
      ledger.add(method, await client.call(method, [...params]))
  const { result } = Object(await client.call('slotSubscribe')) as { readonly result: number }
  ledger.add('slotSubscribe', {})
  ledger.add('slotUnsubscribe', await client.call('slotUnsubscribe', [result]))
  client.destroy()
}

/** The rows of the page, without percentiles. */
const rowsOf = async (card: Locator): Promise<readonly string[]> => {
  const rows: string[] = []
  for (const row of await card.locator('tbody tr').all()) {
    const cells = await row.locator('th, td').allInnerTexts()
    rows.push(
      cells
        .slice(0, 4)
        .map(text => text.split(/\s*\n\s*/).join(' '))
        .join(' | '),
    )
  }
  return rows.toSorted()
}

/** As a person types it, whose browser has this time zone. */
const toLocal = (atMs: number): string =>
  new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

const tileOf = async (page: Page, name: string): Promise<string> =>
  page.locator('.tile').filter({ hasText: name }).locator('dd').innerText()

const browser = isSoak ? await openBrowser(t) : undefined
if (browser !== undefined)
  await t.test('the page shows what a load generator counted', { timeout: 120_000 }, async t => {
    const dataDir = ownDir(t)
    const args = ['--edges', '2', '--traffic', '0']
    const deployment = await startDeployment(t, { dataDir, args })
    const { dashboardUrl, samples } = deployment.description
    const wallet = samples['wallet'] ?? ''
    const ask = async (...words: readonly string[]) => {
      const { code, output } = await runToEnd(t, ['access', ...words, '--data-dir', dataDir])
      if (code !== 0) throw new Error(output)
      return JSON.parse(output)
    }
    const { accessId } = await ask(
      ...['grant', '--subject', 'sandbox', '--product', 'node-access', '--limits'],
      'requestsPerSecondMax=100000,requestsBurstMax=100000,requestsInFlightMax=1000',
    )
    const scope = [accessId, 'sandbox', 'fra']
    const startMs = Date.now()
    const ledger = new Ledger()
    const load = async (url: string): Promise<void> => {
      await Promise.all([
        loadHttp(url, wallet, ledger),
        loadSocket(url, wallet, ledger),
        loadSocket(url, wallet, ledger),
      ])
    }
    const { rpcUrl } = await ask('token', 'generate', ...scope)
    await load(rpcUrl)

    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ada')
    await page.goto(`${dashboardUrl}#/access/${accessId}`)
    const methods = page.getByRole('region', { name: 'By method' })
    const agree = async (after: string): Promise<void> => {
      // The page loads its numbers again when it is opened.
      await page.reload()
      const total = ledger.sum('requests').toLocaleString('en')
      const equal = async (range: string): Promise<void> => {
        await until(`the requests of ${range} are shown`, async () => {
          const shown = await tileOf(page, 'Requests')
          return shown === total && (await rowsOf(methods)).join() === ledger.rows.join()
        })
        const [errors, limited] = [ledger.sum('errors'), ledger.sum('limited')]
        t.equal(await tileOf(page, 'Errors'), errors.toLocaleString('en'), `${after}, ${range}`)
        t.equal(
          await tileOf(page, 'Over a limit'),
          limited.toLocaleString('en'),
          `${after}, ${range}`,
        )
        t.strictSame(await rowsOf(methods), ledger.rows, `${after}, ${range}`)
      }
      await page.getByLabel('From', { exact: true }).fill(toLocal(startMs))
      await page.waitForURL(/from=\d+&until=\d+/)
      await equal('a chosen time')
      for (const range of ['15 minutes', '24 hours', '7 days']) {
        await page.getByRole('radio', { name: range }).check()
        // Of the chosen time until the present minute.
        const now = page.getByRole('button', { name: 'Now' })
        if (await now.isVisible()) await now.press('Enter')
        await equal(range)
      }
    }
    await agree('by HTTP and WebSocket')
    const failed = page.locator('.failures > li')
    await failed.nth(49).waitFor()
    t.equal(await failed.count(), 50)
    await page.getByRole('button', { name: 'Show up to 1,000' }).press('Enter')
    await failed.nth(999).waitFor()
    t.equal(await failed.count(), 1_000, 'the newest ones')
    const texts = new Set(
      (await failed.allInnerTexts()).map(text => text.replace(/^.*?\d\d:\d\d:\d\d\s*/, '')),
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
    const row = methods.locator('tbody tr').filter({ hasText: 'getAccountInfo' })
    t.match(await row.locator('td').nth(3).innerText(), /^[\d.]+ ms$/, 'of reads in any path')

    const [edge = 0] = deployment.pidsOf('edge')
    process.kill(edge, 'SIGKILL')
    await until('it is back', () => {
      const pids = deployment.pidsOf('edge')
      return pids.length === 2 && !pids.includes(edge)
    })
    const again = await ask('token', 'regenerate', ...scope)
    await until('it serves', async () => (await fetch(deployment.url)).status !== 0)
    await load(again.rpcUrl)
    await ask('amend', accessId, '--limits', 'requestsPerSecondMax=1,requestsBurstMax=10')
    const body = '{"jsonrpc":"2.0","id":1,"method":"getSlot"}'
    for (let count = 0; count < 30; count++) {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(again.rpcUrl, { method: 'POST', headers, body })
      const isLimited = answer.status === 429
      ledger.add(isLimited ? 'No method' : 'getSlot', await answer.json(), isLimited)
    }
    await runToEnd(t, ['access', 'token', 'revoke', ...scope, '--data-dir', dataDir])
    t.ok(ledger.sum('limited') > 10)
    await agree('through the kill of an edge, a new token, a limit and a revocation')
    await saveScreenshot(page, 'usage-of-a-load')
    t.strictSame(faults, [])
    await context.close()
    t.equal(await deployment.stop(), 0)
  })
