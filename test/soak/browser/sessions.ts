import t from 'tap'
import {
  axeFaults,
  browserStateOf,
  choose,
  look,
  openBrowser,
  openVisit,
  saveScreenshot,
  signIn,
  untilFocused,
  viewsOf,
} from '../../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../../fixtures/repository.js'

const PAGES = repositoryPath('dist/dashboard/pages/')
/** Shorter than clocks may differ, as the dashboard's is ahead of that of the provider below. */
const RECENT_MS = 20_000
const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 360, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined) {
  await t.test('sessions are seen and ended, with the keyboard alone', async t => {
    const { url } = await startDashboard(t, { pagesDir: PAGES })
    const own = await openVisit(browser)
    const others = await Promise.all([openVisit(browser), openVisit(browser)])
    for (const { page } of others) {
      await page.goto(`${url}/#/sessions`)
      await signIn(page, [ADA], 'ada')
      await page.getByRole('listitem').first().waitFor()
    }
    const { page } = own
    await page.goto(url)
    await signIn(page, [ADA], 'ada')
    await page.getByRole('link', { name: 'Sessions' }).press('Enter')
    await untilFocused(page, 'Sessions')
    t.match(page.url(), /#\/sessions$/)
    const rows = page.getByRole('listitem')
    await rows.filter({ hasText: 'This browser' }).waitFor()
    t.equal(await rows.count(), 3)
    t.match(await rows.first().textContent(), /Chrome on Linux.*127\.0\.0\.1 · Last used just now/)
    await look(t, page, 'sessions', VIEWS)
    await rows
      .getByRole('button', { name: /^End session/ })
      .first()
      .press('Enter')
    await page.getByText('The session of Chrome on Linux has ended.').first().waitFor()
    await rows.nth(2).waitFor({ state: 'detached' })
    t.equal(await rows.count(), 2)

    await page.getByRole('button', { name: 'End all other sessions' }).press('Enter')
    await page.getByRole('dialog').waitFor()
    t.strictSame(await axeFaults(page), [])
    await page.getByRole('button', { name: 'End sessions' }).press('Enter')
    await page.getByText('1 other session ended.').first().waitFor()
    await page.getByRole('button', { name: 'End all other sessions', disabled: true }).waitFor()
    for (const other of others) {
      await other.page.reload()
      await other.page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    }
    t.strictSame(
      [own, ...others].flatMap(({ faults }) => faults),
      [],
    )
    for (const { context } of [own, ...others]) await context.close()
  })

  await t.test('an old sign-in is renewed for revealing and regenerating', async t => {
    const dashboard = await startDashboard(t, {
      pagesDir: PAGES,
      dashboard: { recentSignInMs: RECENT_MS },
    })
    const { accessId } = await dashboard.grant('ada')
    const scope = { accessId, network: 'main', location: 'fra' }
    const { token } = await dashboard.accessService.generate(scope)
    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await choose(page, 'Frankfurt')
    const place = page.url()
    const dialog = page.getByRole('dialog', { name: 'Sign in again to continue' })
    const signInAgain = async (): Promise<void> => {
      await dialog.waitFor()
      // The provider has the time of the machine.
      dashboard.clock.nowMs = Date.now()
      await dialog.getByRole('link', { name: 'Sign in again' }).click()
      await page.getByLabel('Email address').fill(ADA.email)
      await page.getByLabel('Password').fill(ADA.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }

    dashboard.clock.nowMs = Date.now() + 3 * RECENT_MS
    await page.getByRole('button', { name: 'Reveal token' }).click()
    await dialog.waitFor()
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'step-up')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    t.notOk((await page.content()).includes(token.reveal()))

    await page.getByRole('button', { name: 'Reveal token' }).press('Enter')
    await dialog.getByRole('link', { name: 'Sign in again' }).press('Enter')
    await page.getByLabel('Password').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('The sign-in was cancelled.').waitFor()
    t.equal(page.url(), place, 'back at the place, still signed in')
    t.equal(await page.getByText('You are signed in again.').count(), 0)

    await page.getByRole('button', { name: 'Reveal token' }).click()
    await signInAgain()
    await page.getByText('You are signed in again. You can reveal and copy').waitFor()
    t.equal(page.url(), place)
    await page.getByRole('button', { name: 'Reveal token' }).click()
    await page.getByRole('button', { name: 'Hide token' }).waitFor()
    t.ok((await page.getByLabel('token', { exact: true }).inputValue()) === token.reveal())
    t.notOk((await browserStateOf(page)).includes(token.reveal()))

    dashboard.clock.nowMs += 3 * RECENT_MS
    await page.reload()
    await page.getByRole('button', { name: 'Regenerate' }).click()
    await page.getByRole('button', { name: 'Regenerate token' }).click()
    await signInAgain()
    await page.getByRole('dialog', { name: 'Regenerate the token for Frankfurt?' }).waitFor()
    t.equal((await dashboard.accessService.reveal(scope))?.reveal(), token.reveal(), 'not yet')
    await page.getByRole('button', { name: 'Regenerate token' }).click()
    await page.getByText('The new token works').first().waitFor()
    t.not((await dashboard.accessService.reveal(scope))?.reveal(), token.reveal())
    t.strictSame(faults, [])
    await context.close()
  })
}
