import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import {
  look,
  openBrowser,
  openVisit,
  signIn,
  untilFocused,
  viewsOf,
} from '../fixtures/dashboard/browser.js'
import { DashboardClient } from '../fixtures/dashboard/dashboard-client.js'
import { ADA, BEN, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { HOUR_MS } from '../../src/usage/scope.js'
import { UsageWriter, type EndRow } from '../../src/usage/store.js'
import { ownDir } from '../fixtures/own-dir.js'
import { sharedSandbox } from '../fixtures/processes/shared-sandbox.js'
import { repositoryPath } from '../fixtures/repository.js'
import { until } from '../fixtures/until.js'

const INCIDENT = {
  id: '1',
  location: null,
  machine: null,
  reasons: ['process-restarted'],
  detail: 'control: ended with SIGKILL',
  startedAtMs: Date.now(),
  endedAtMs: Date.now(),
}

const NO_DELAYS = ['{}', '{}'] as const

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const WIDE_VIEWS = viewsOf(
  { width: 360, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 1920, scheme: 'light', hasForcedColors: true },
)
const SPAN = 'span=86400000'
const RANGE = `/api/operator/usage/range?${SPAN}&step=900000`

type Figures = Readonly<Record<'requests' | 'errors' | 'rateLimited' | 'refused', number>>
type Range = {
  readonly periods: readonly Figures[]
  readonly methods: readonly { readonly method: string; readonly requests: number }[]
  readonly calls: readonly {
    readonly codes: readonly { readonly code: number; readonly count: number }[]
  }[]
  readonly overLimit: Readonly<Record<string, number>>
}

const call = (method: string, params: readonly unknown[] = []) => ({
  ...{ jsonrpc: '2.0', id: 1, method, params },
})

const sum = (range: Range, figure: keyof Figures): number =>
  range.periods.reduce((all, period) => all + period[figure], 0)
const callsOf = (range: Range, method: string): number =>
  range.methods.find(one => one.method === method)?.requests ?? 0
const errorsOf = (range: Range, code: number): number =>
  range.calls
    .flatMap(({ codes }) => codes)
    .filter(one => one.code === code)
    .reduce((all, { count }) => all + count, 0)

/** What changes or reveals something is not on the page at all. */
const absent = async (t: Test, page: Page): Promise<void> => {
  const text = await page.locator('main').innerText()
  t.notMatch(text, /Generate|Regenerate|Reveal|Revoke|Restrict|Keep parameters|API key|Webhook/i)
  for (const name of ['CSV', 'JSON', 'Save', 'Settings', 'Connect'])
    t.equal(await page.getByRole('button', { name }).count(), 0, name)
  t.equal(await page.locator('fieldset[disabled]').count(), 0)
}

const browser = await openBrowser(t)
if (browser !== undefined) {
  await t.test('the page of operators, which others do not have', async t => {
    const dataDir = ownDir(t)
    const hour = Math.floor(Date.now() / HOUR_MS)
    await new UsageWriter(dataDir).addEnds(
      ['landed', 'landed', 'expired', 'unseen', 'failed'].flatMap((figure, nth) =>
        ['fast', ''].map((lane): EndRow => {
          const delays = figure === 'landed' ? (['{"1":1}', '{"30":1}'] as const) : NO_DELAYS
          const of = [`${lane}${nth}`, 'acc', 'main', 'fra', '/race', lane, hour * 60] as const
          const tip = nth % 2 === 0 ? 0 : 10_000
          return [...of, tip, tip, figure as 'landed', ...delays]
        }),
      ),
    )
    const dashboard = await startDashboard(t, {
      dataDir,
      pagesDir: repositoryPath('dist/dashboard/pages/'),
      dashboard: { operators: [BEN.subject] },
      incidents: () => [INCIDENT],
    })
    for (let count = 0; count < 60; count++) await dashboard.grant(`person-${count}`)
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboard.url)
    await signIn(page, [BEN], 'ben')
    await page.getByRole('link', { name: 'Operator' }).press('Enter')
    await untilFocused(page, 'Operator')
    const rows = page.locator('.operator-view li')
    await rows.nth(49).waitFor()
    await look(t, page, 'operator-accesses', VIEWS)
    let show = (): void => {}
    const isShown = new Promise<void>(resolve => (show = resolve))
    const second = /\/accesses\?.*after=acc_/
    await page.route(second, route => isShown.then(() => route.continue()))
    await page.getByRole('button', { name: 'Next page' }).press('Enter')
    await page.locator('.page-of-list[aria-busy=true]').waitFor()
    t.equal(await rows.count(), 50, 'the rows stay until the next ones are loaded')
    await untilFocused(page, 'Next page')
    show()
    await page.getByRole('group', { name: 'Next page' }).locator(':scope:focus').waitFor()
    await page.getByRole('button', { name: 'First page' }).waitFor()
    t.equal(await rows.count(), 10)
    await page.unroute(second)
    await page.getByRole('searchbox').fill('person-7')
    await page.keyboard.press('Enter')
    await rows.filter({ hasText: 'pass of person-7 ·' }).waitFor()
    t.equal(await rows.count(), 1)
    t.match(page.url(), '#/operator?find=person-7')

    await rows.getByRole('link').press('Enter')
    const banner = page.getByRole('note')
    await banner.filter({ hasText: /^Read-only\. Access acc_\w+ of person-7, as/ }).waitFor()
    await untilFocused(page, 'Node access')
    await page.getByText('No failed requests in the range of this page.').waitFor()
    t.match(page.url(), /#\/operator\/access\/acc_\w+$/)
    await look(t, page, 'operator-access', VIEWS)
    await page.getByRole('tab', { name: 'Usage' }).press('ArrowRight')
    await page.getByRole('heading', { name: 'Submissions', exact: true }).waitFor()
    await absent(t, page)
    await look(t, page, 'operator-access-submissions', VIEWS)
    await page.reload()
    await banner.waitFor()
    t.equal(await page.title(), 'Submissions · Node access · Operator · Slotline')
    const change = page.getByRole('button', { name: 'All locations Change' })
    if (await change.isVisible()) await change.press('Enter')
    await page.getByRole('radio', { name: /^Frankfurt/ }).check()
    await page.getByRole('heading', { name: 'Refused attempts' }).waitFor()
    t.match(page.url(), /#\/operator\/location\/acc_\w+\/main\/fra\/usage$/)
    t.equal(await page.getByRole('tab').count(), 1, 'neither Connect nor Settings')
    await absent(t, page)
    await look(t, page, 'operator-location', VIEWS)
    await page.goBack()
    await page.goto(`${dashboard.url}/#/operator?find=person-7`)
    await rows.getByRole('link').press('Enter')
    await banner.getByRole('link', { name: 'Back to Operator' }).press('Enter')
    await untilFocused(page, 'Operator')
    await rows.filter({ hasText: 'pass of person-7 ·' }).waitFor()
    t.equal(await rows.count(), 1, 'with the view that was left')
    for (const id of ['acc_none', 'x'.repeat(8_192), '%2e%2e%2fusage']) {
      await page.goto(`${dashboard.url}/#/operator/access/${id}`)
      await page.getByRole('button', { name: 'Try again' }).waitFor()
    }
    await page.getByRole('link', { name: 'Back to Operator' }).press('Enter')
    await page.getByRole('radio', { name: 'Accesses' }).focus()
    for (const [name, text] of [
      ['Usage', 'Top accesses'],
      ['Lanes', 'Which of them landed a transaction is not on the chain.'],
      ['Nodes', 'main at slot 7'],
      ['Incidents', 'control: ended with SIGKILL'],
      ['Audit', 'sign-in'],
    ] as const) {
      await page.keyboard.press('ArrowRight')
      await page.getByRole('region', { name }).getByText(text).first().waitFor()
      await look(t, page, `operator-${name.toLowerCase()}`, VIEWS)
    }
    t.match(page.url(), '#/operator/audit')
    t.equal(await page.title(), 'Audit · Operator · Slotline')
    await page.goto(`${dashboard.url}/#/operator/lanes`)
    await page.reload()
    t.ok(await page.getByRole('radio', { name: 'Lanes' }).isChecked())
    await page.getByRole('radio', { name: '7 days' }).check()
    const lanes = page.getByRole('region', { name: 'fast on main' })
    const cells = async (row: number): Promise<readonly string[]> => {
      const all = await lanes.locator('tbody tr').nth(row).locator('th, td').allInnerTexts()
      return all.map(one => one.replaceAll(/\s+/g, ' '))
    }
    await lanes.waitFor()
    t.match(await cells(0), ['All', '5', /50%/, /3 .*failed: 1 .*expired: 1 .*not known: 1/])
    t.match(await cells(2), ['10,000 to 99,999 lamports', '2', /100%/])
    await page.getByRole('radio', { name: 'Audit' }).check()
    const log = page.getByRole('region', { name: 'Audit' })
    await log.getByText('sign-in').first().waitFor()
    t.equal(await log.getByText(/^on /).count(), 0, 'no machine is named without a cluster')
    t.strictSame(faults, [])
    await context.close()

    const other = await openVisit(browser, VIEWS[0])
    await other.page.goto(`${dashboard.url}/#/operator`)
    await signIn(other.page, [ADA], 'ada')
    await other.page.getByRole('heading', { name: 'No access yet' }).waitFor()
    t.equal(await other.page.getByRole('link', { name: 'Operator' }).count(), 0)
    await other.context.close()
  })

  await t.test('the page of the service shows what a load generator counted', async t => {
    const deployment = await sharedSandbox('--edges', '2')
    const { adminToken, dashboardUrl, identity } = deployment.description
    const olga = new DashboardClient(dashboardUrl)
    await olga.signIn(identity.users[2])
    t.equal((await fetch(new URL('/status', dashboardUrl))).status, 200, 'the status page is on')
    const { subject } = (await olga.ask('/api/session')).json as { readonly subject: string }
    const admin = async (path: string, body: object): Promise<Record<string, string>> => {
      const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
      const url = new URL(`/admin/accesses${path}`, dashboardUrl)
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await answer.json()) as Record<string, string>
    }
    const accesses: { readonly accessId: string; readonly url: string }[] = []
    for (const label of ['first of two', 'second of two']) {
      const limits = { requestsPerSecondMax: 10_000, requestsBurstMax: 50 }
      const wanted = { subject, kind: 'pass', product: 'node-access', label, limits }
      const { accessId = '' } = await admin('', wanted)
      const { rpcUrl = '' } = await admin(`/${accessId}/networks/sandbox/locations/fra/token`, {})
      accesses.push({ accessId, url: rpcUrl })
    }
    const before = (await olga.ask(RANGE)).json as Range

    const counted = { requests: 0, errors: 0, rateLimited: 0 }
    const ofAccess = new Map<string, number>()
    const send = async (nth: number, body: object): Promise<void> => {
      const { accessId = '', url = '' } = accesses[nth] ?? {}
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      const replies = [await answer.json()].flat() as object[]
      // One that is over a limit is not read: it is one request.
      const count = Array.isArray(body) && answer.status !== 429 ? body.length : 1
      counted.requests += count
      ofAccess.set(accessId, (ofAccess.get(accessId) ?? 0) + count)
      if (answer.status === 429) counted.rateLimited += count
      else counted.errors += replies.filter(reply => 'error' in reply).length
    }
    for (let round = 0; round < 30; round++)
      await Promise.all([
        send(0, call('getSlot')),
        send(0, call('getBalance', ['x'])),
        send(1, call('getVersion')),
        send(1, [call('getSlot'), call('getNothing')]),
      ])
    const batch = Array.from({ length: 60 }, () => call('getSlot'))
    for (let count = 0; count < 8; count++) await send(1, batch)
    t.match(counted, { requests: 158, errors: 60, rateLimited: 8 })

    let after = before
    await until('refusals by limit are stored', async () => {
      after = (await olga.ask(RANGE)).json as Range
      const gain = ({ overLimit }: Range): number => overLimit['requestsBurstMax'] ?? 0
      return gain(after) - gain(before) >= 8
    })
    for (const figure of ['requests', 'errors', 'rateLimited'] as const)
      t.equal(sum(after, figure) - sum(before, figure), counted[figure], figure)
    for (const [method, count] of [
      ['getSlot', 60],
      ['getBalance', 30],
      ['getVersion', 30],
      ['getNothing', 30],
    ] as const)
      t.equal(callsOf(after, method) - callsOf(before, method), count, method)
    t.equal(errorsOf(after, -32_602) - errorsOf(before, -32_602), 30)
    t.equal(errorsOf(after, -32_601) - errorsOf(before, -32_601), 30)

    const { page, context, faults } = await openVisit(browser, WIDE_VIEWS[0])
    await page.goto(`${dashboardUrl}#/operator/usage?range=day`)
    await signIn(page, deployment, 'olga')
    const tile = page.getByRole('region', { name: 'Requests', exact: true }).locator('.tile')
    for (const [name, figure] of [
      ['Requests', 'requests'],
      ['Errors', 'errors'],
      ['Over a limit', 'rateLimited'],
    ] as const)
      await tile
        .filter({ hasText: name })
        .locator('dd')
        .filter({ hasText: new RegExp(`^${sum(after, figure).toLocaleString('en')}$`) })
        .waitFor()
    const top = page.getByRole('region', { name: 'Top accesses' }).locator('tbody tr')
    const cellOf = (label: string, column: number) =>
      top.filter({ hasText: label }).locator('td').nth(column)
    const [first = '', second = ''] = accesses.map(({ accessId }) => String(ofAccess.get(accessId)))
    await cellOf('first of two', 0).filter({ hasText: first }).waitFor()
    await cellOf('second of two', 0).filter({ hasText: second }).waitFor()
    await look(t, page, 'operator-service', WIDE_VIEWS)
    await page.getByRole('radio', { name: 'Over a limit' }).check()
    await cellOf('second of two', 2).filter({ hasText: '8' }).waitFor()
    t.match(page.url(), '#/operator/usage?range=day&by=rateLimited')
    await page.reload()
    t.equal(await top.filter({ hasText: 'first of two' }).count(), 0)
    t.ok(await page.getByRole('radio', { name: '24 hours' }).isChecked(), 'the view is in the URL')
    await cellOf('second of two', 2)
      .filter({ hasText: /Requests of one batch: 8/ })
      .waitFor()
    t.notOk((await page.content()).includes('slt_'), 'no token is in it')

    const { accessId = '' } = accesses[1] ?? {}
    const figures = async (): Promise<readonly string[]> => {
      const requests = tile.filter({ hasText: 'Requests' }).locator('dd')
      await requests.filter({ hasText: new RegExp(`^${second}$`) }).waitFor()
      const limits = page.getByRole('region', { name: 'Over a limit' }).locator('td')
      const methods = page.getByRole('region', { name: 'Usage by method' }).locator('tbody tr')
      await methods.filter({ hasText: 'getNothing' }).waitFor()
      return [tile, limits, methods].reduce<Promise<readonly string[]>>(
        async (all, one) => [...(await all), ...(await one.allInnerTexts())],
        Promise.resolve([]),
      )
    }
    await top.filter({ hasText: 'second of two' }).getByRole('link').press('Enter')
    await page.getByRole('note').filter({ hasText: accessId }).waitFor()
    t.match(page.url(), `#/operator/access/${accessId}?range=day`)
    const seen = await figures()
    t.equal(await page.getByRole('region', { name: 'Failed requests' }).locator('li').count(), 38)
    await absent(t, page)
    await look(t, page, 'operator-access-traffic', WIDE_VIEWS)
    t.notOk((await page.content()).includes('slt_'), 'nor in that of an access')
    await page.goto(`${dashboardUrl}#/access/${accessId}?range=day`)
    await page.getByRole('tab', { name: 'Settings' }).waitFor()
    t.strictSame(await figures(), seen, 'its holder, who is the operator here, sees the same')
    t.strictSame(faults, [])
    await context.close()
    for (const { accessId } of accesses) await admin(`/${accessId}/end`, {})
  })
}
