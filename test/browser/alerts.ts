import t from 'tap'
import { defaults } from '../../src/dashboard/webhooks/options.js'
import {
  choose,
  look,
  openAccess,
  openBrowser,
  openVisit,
  signIn,
  viewsOf,
} from '../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../fixtures/dashboard/dashboard-client.js'
import { openReceiver } from '../fixtures/dashboard/receiver.js'
import { repositoryPath } from '../fixtures/repository.js'

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('rules are changed, added, tested and removed by keyboard', async t => {
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
      dashboard: { webhooks: { ...defaults, allowLoopback: true } },
    })
    const [one, other] = [await openReceiver(t), await openReceiver(t)]
    const { accessId } = await dashboard.grant('ada')
    const client = new DashboardClient(dashboard.url)
    await client.signIn(ADA)
    for (const { url } of [one, other])
      await client.call('POST', `/api/accesses/${accessId}/webhooks`, { url })
    const { context, page, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await choose(page, 'Frankfurt')
    await openAccess(page, 'Settings')
    const card = page.getByRole('region', { name: 'Alerts', exact: true })
    const row = (name: RegExp) => card.locator('tbody tr').filter({ hasText: name })
    await row(/Share of errors/)
      .getByText(/at least 10 % of the requests at a location in 5 minutes, from 20 errors/)
      .waitFor()
    t.equal(await card.locator('tbody tr').count(), 6)
    await row(/p99 latency/)
      .getByText('Off', { exact: true })
      .waitFor()

    await card.getByRole('button', { name: 'Turn on p99 latency' }).press('Enter')
    await row(/p99 latency/)
      .getByText('On', { exact: true })
      .waitFor()
    await card.getByRole('button', { name: 'Edit p99 latency' }).press('Enter')
    const form = card.getByRole('form', { name: 'p99 latency' })
    await form.getByLabel('Threshold').fill('80')
    await form.getByLabel('In the last').selectOption('15')
    await form.getByLabel('Method, or all').fill('getSlot')
    await form.getByLabel('Every webhook').press('Space')
    await form
      .locator('.alert-check', { hasText: new URL(other.url).host })
      .locator('input')
      .press('Space')
    await form.getByLabel('Send its end, too').press('Space')
    await look(t, page, 'alert-rule', VIEWS)
    await form.getByRole('button', { name: 'Save rule' }).press('Enter')
    await card.getByText('Saved: p99 latency.').waitFor()
    await row(/p99 latency/)
      .getByText('at least 80 ms in 15 minutes, from 100 calls of getSlot')
      .waitFor()
    await row(/p99 latency/)
      .getByText(`${new URL(other.url).host}, also its end`)
      .waitFor()

    await card.getByRole('button', { name: 'Test p99 latency' }).press('Enter')
    await card.getByText('p99 latency: the test was received.').waitFor()
    t.match(other.received, [
      {
        body: {
          type: 'access.p99-high',
          data: { test: true, warnings: [{ values: { p99Ms: 80, method: 'getSlot' } }] },
        },
      },
    ])
    t.equal(one.received.length, 0)
    one.answer = response => response.writeHead(500).end()
    await card.getByRole('button', { name: 'Test Rental ends soon' }).press('Enter')
    await card
      .getByRole('alert')
      .getByText(`The test failed. ${new URL(one.url).host}: answered 500.`)
      .waitFor()
    t.equal(other.received.length, 2, 'the other one received it')

    await card.getByRole('button', { name: 'Add a rule' }).press('Enter')
    const added = card.getByRole('form', { name: 'New rule' })
    await added.getByLabel('Kind').selectOption('limit-near')
    await added.getByLabel('Threshold').fill('50')
    await added.getByRole('button', { name: 'Add rule' }).press('Enter')
    await card.getByText('at least 50 % of a limit, over a minute').waitFor()
    await card.getByRole('button', { name: 'Remove Rental ends soon' }).press('Enter')
    await card.getByText('Removed: Rental ends soon.').waitFor()
    const { rules } = Object((await client.ask(`/api/accesses/${accessId}/alerts`)).json)
    t.match(rules, [
      { kind: 'limit-near', threshold: 80 },
      { kind: 'errors-rising' },
      { kind: 'p99-high', isOn: true, threshold: 80, windowMinutes: 15, sendsResolved: true },
      { kind: 'landing-rate-low', isOn: false },
      { kind: 'location-behind' },
      { kind: 'limit-near', threshold: 50, ruleId: /^rule_/ },
    ])
    await look(t, page, 'alerts', VIEWS, async ({ width }) => {
      const hidden = await card
        .locator('.scroll')
        .evaluateAll(all =>
          all.map(({ clientHeight, scrollHeight }) => scrollHeight - clientHeight),
        )
      t.strictSame(hidden, [0], `every rule is seen at ${width} px`)
    })
    t.strictSame(faults, [])
    await context.close()
  })
