import t from 'tap'
import { defaults } from '../../src/dashboard/webhooks/options.js'
import {
  browserStateOf,
  choose,
  copy,
  look,
  openAccess,
  openBrowser,
  openVisit,
  signIn,
  viewsOf,
} from '../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { openReceiver } from '../fixtures/dashboard/receiver.js'
import { repositoryPath } from '../fixtures/repository.js'

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 768, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('a webhook is set, tested, resumed and removed by keyboard', async t => {
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
      dashboard: { webhooks: { ...defaults, allowLoopback: true } },
    })
    const receiver = await openReceiver(t)
    await dashboard.grant('ada')
    const { context, page, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await choose(page, 'Frankfurt')
    await openAccess(page, 'Settings')
    const card = page.getByRole('region', { name: 'Alert webhooks' })
    await card.getByText('Not set').waitFor()
    const url = card.getByLabel('URL')

    await url.fill('http://hooks.example.com')
    await url.press('Enter')
    await card.getByRole('alert').getByText('must begin with https://').waitFor()
    t.equal(await url.getAttribute('aria-invalid'), 'true')

    await url.fill(receiver.url)
    await url.press('Enter')
    await card.getByText('Saved. Copy the new signing secret').waitFor()
    const secret = await copy(page, 'signing secret')
    t.match(secret, SECRET)
    t.equal(await card.getByLabel('signing secret', { exact: true }).inputValue(), secret)
    await card.getByRole('button', { name: 'Hide signing secret' }).press('Enter')
    await card.getByLabel('signing secret, masked').waitFor()
    t.notOk((await browserStateOf(page)).includes(secret))

    receiver.answer = response => response.writeHead(500).end()
    await card.getByRole('button', { name: 'Send a test' }).press('Enter')
    await card.getByText(/^The test failed after \d+ ms: answered 500\.$/).waitFor()
    receiver.answer = response => response.writeHead(204).end()
    await card.getByRole('button', { name: 'Send a test' }).press('Enter')
    await card.getByText(/^The receiver answered 204 in \d+ ms\.$/).waitFor()
    const rows = card.locator('tbody tr')
    await rows.nth(1).waitFor()

    receiver.answer = response => response.writeHead(410).end()
    await card.getByRole('button', { name: 'Send a test' }).press('Enter')
    await card.getByText(/^Nothing is sent: the receiver answered 410 Gone on/).waitFor()
    await card.getByText(/^The test failed after \d+ ms: answered 410 Gone\.$/).waitFor()
    t.equal(await url.getAttribute('aria-invalid'), 'false')
    await rows.nth(2).waitFor()
    await look(t, page, 'webhook', VIEWS, async () => {
      t.match(await rows.nth(1).innerText(), /Test[^]*Delivered[^]*204[^]*1/)
      t.match(await rows.nth(2).innerText(), /Test[^]*Failed[^]*answered 500[^]*1/)
    })
    await card.getByRole('button', { name: 'Resume' }).press('Enter')
    await card.getByText('Alerts are sent again.').waitFor()
    await card.getByText('On', { exact: true }).waitFor()

    await card.getByRole('button', { name: 'Remove the webhook' }).press('Enter')
    await page.getByRole('button', { name: 'Remove webhook', exact: true }).press('Enter')
    await card.getByText('Not set').waitFor()
    t.equal(await url.inputValue(), '')
    t.strictSame(faults, [])
    await context.close()
  })
