import t from 'tap'
import {
  look,
  openBrowser,
  openVisit,
  signIn,
  untilFocused,
  viewsOf,
} from '../fixtures/dashboard/browser.js'
import { ADA, BEN, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { HOUR_MS } from '../../src/usage/scope.js'
import { UsageWriter, type EndRow } from '../../src/usage/store.js'
import { ownDir } from '../fixtures/own-dir.js'
import { repositoryPath } from '../fixtures/repository.js'

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
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('the page of operators, which others do not have', async t => {
    const dataDir = ownDir(t)
    const hour = Math.floor(Date.now() / HOUR_MS)
    await new UsageWriter(dataDir).addEnds(
      ['landed', 'landed', 'expired', 'unseen', 'failed'].flatMap((figure, nth) =>
        ['fast', ''].map((lane): EndRow => {
          const delays = figure === 'landed' ? (['{"1":1}', '{"30":1}'] as const) : NO_DELAYS
          const of = [`${lane}${nth}`, 'acc', 'main', 'fra', '/race', lane, hour] as const
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
    await page.getByRole('radio', { name: 'Accesses' }).focus()
    for (const [name, text] of [
      ['Usage', 'for the last 30 days'],
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
    await page.getByText('Each machine of a cluster has a log of its own.').waitFor()
    t.strictSame(faults, [])
    await context.close()

    const other = await openVisit(browser, VIEWS[0])
    await other.page.goto(`${dashboard.url}/#/operator`)
    await signIn(other.page, [ADA], 'ada')
    await other.page.getByRole('heading', { name: 'No access yet' }).waitFor()
    t.equal(await other.page.getByRole('link', { name: 'Operator' }).count(), 0)
    await other.context.close()
  })
