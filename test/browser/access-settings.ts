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
import { ADA, BEN, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../fixtures/dashboard/dashboard-client.js'
import { repositoryPath } from '../fixtures/repository.js'

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 768, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined) {
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

  await t.test('a member is added, views, manages, leaves and is removed, by keyboard', async t => {
    const dashboard = await startDashboard(t, { pagesDir: repositoryPath('dist/dashboard/pages/') })
    const { accessId } = await dashboard.grant('ada')
    const scope = { accessId, network: 'main', location: 'fra' }
    await dashboard.accessService.generate(scope)
    const [own, other] = [await openVisit(browser, VIEWS[0]), await openVisit(browser, VIEWS[0])]
    const { page } = own
    await page.goto(dashboard.url)
    await signIn(page, [ADA, BEN], 'ada')
    await choose(page, 'Frankfurt')
    await openAccess(page, 'Settings')
    const card = page.getByRole('region', { name: 'Members', exact: true })
    await card.getByText('No members yet.').waitFor()
    const email = card.getByLabel('E-mail address')
    await email.fill('ben@')
    await email.press('Enter')
    await card.getByRole('alert').getByText('must be an e-mail address').waitFor()
    await email.fill(' Ben@Test.example ')
    await email.press('Enter')
    await card.getByRole('rowheader', { name: BEN.email }).waitFor()
    t.equal(await email.inputValue(), '')
    await look(t, page, 'members', VIEWS)

    const { page: shared } = other
    await shared.goto(dashboard.url)
    await signIn(shared, [ADA, BEN], 'ben')
    await shared.getByText('Shared with you to view').first().waitFor()
    await choose(shared, 'Frankfurt')
    const notice = shared.getByText('You may view this access')
    await notice.waitFor()
    const revoke = shared.getByRole('button', { name: 'Revoke', exact: true })
    await revoke.waitFor()
    t.ok(await revoke.isDisabled())
    for (const button of await shared
      .getByRole('button', { name: /^(Show|Reveal|Copy|Regenerate)/ })
      .all())
      t.ok(await button.isDisabled(), await button.innerText())
    await look(t, shared, 'member-view', VIEWS)
    await openAccess(shared, 'Settings')
    await shared.getByText('Their URLs are secret').waitFor()
    await shared.getByText('Only the owner of the access changes members.').waitFor()
    t.equal(await shared.getByRole('button', { name: /^(Make|Add|Remove|Turn|Edit)/ }).count(), 0)
    await look(t, shared, 'member-settings', VIEWS)

    await card.getByLabel(`Role of ${BEN.email}`).selectOption('manage')
    await notice.waitFor({ state: 'detached' })
    await shared.getByText('Each new alert of').waitFor()
    t.ok(await shared.getByRole('button', { name: 'Make a key' }).isEnabled())
    t.equal(await shared.getByLabel('E-mail address').count(), 0, 'members are not managed')

    await shared.getByRole('button', { name: 'Leave this access' }).press('Enter')
    await look(t, shared, 'leave-dialog', VIEWS)
    await shared.getByRole('button', { name: 'Leave access', exact: true }).press('Enter')
    const none = shared.getByRole('heading', { name: 'No access yet' })
    await none.waitFor()
    await card.getByText('No members yet.').waitFor()
    await email.fill(BEN.email)
    await email.press('Enter')
    await none.waitFor({ state: 'detached' })

    await card.getByRole('button', { name: `Remove ${BEN.email}` }).press('Enter')
    await page.getByRole('button', { name: 'Remove member', exact: true }).press('Enter')
    await card.getByText('No members yet.').waitFor()
    await none.waitFor()
    t.notOk((await shared.content()).includes(accessId))
    t.strictSame([...own.faults, ...other.faults], [])
    await own.context.close()
    await other.context.close()
  })
}
