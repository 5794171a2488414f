import t from 'tap'
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
import { DashboardClient } from '../fixtures/dashboard/dashboard-client.js'
import { repositoryPath } from '../fixtures/repository.js'

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 768, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('an API key is made, copied, used and revoked by keyboard', async t => {
    const dashboard = await startDashboard(t, { pagesDir: repositoryPath('dist/dashboard/pages/') })
    const { accessId } = await dashboard.grant('ada')
    const { context, page, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await choose(page, 'Frankfurt')
    await openAccess(page, 'Settings')
    const card = page.getByRole('region', { name: 'API keys' })
    await card.getByText('No keys yet.').waitFor()

    await card.getByRole('button', { name: 'Make a key' }).press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Make an API key' })
    const name = dialog.getByLabel('Name')
    await name.press('Enter')
    await dialog.getByRole('alert').getByText('Name the key.').waitFor()
    await name.fill('Prometheus')
    await dialog.getByLabel('Restrict tokens').press(' ')
    await dialog.getByLabel('Ends after').selectOption('30')
    await look(t, page, 'key-dialog', VIEWS)
    await name.press('Enter')
    await card.getByText('Copy the key now').waitFor()
    const secret = await copy(page, 'API key')
    t.match(secret, /^slk_[0-9A-Za-z]{38}$/)
    t.notOk((await browserStateOf(page)).includes(secret))
    const ask = () =>
      new DashboardClient(dashboard.url).ask(`/api/accesses/${accessId}/usage`, {
        headers: { authorization: `Bearer ${secret}` },
      })
    t.equal((await ask()).status, 200)
    await card.getByRole('button', { name: 'Done' }).press('Enter')
    await look(t, page, 'keys', VIEWS, async () => {
      const row = card.locator('tbody tr')
      t.match(await row.innerText(), /Prometheus[^]*Read usage, Restrict tokens/)
      t.notOk((await page.content()).includes(secret))
    })

    await card.getByRole('button', { name: 'Revoke Prometheus' }).press('Enter')
    await page.getByRole('button', { name: 'Revoke key', exact: true }).press('Enter')
    await card.getByText('No keys yet.').waitFor()
    t.equal((await ask()).status, 401)
    t.strictSame(faults, [])
    await context.close()
  })
