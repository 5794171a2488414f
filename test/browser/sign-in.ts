import type { Page } from 'playwright-core'
import t from 'tap'
import { look, openBrowser, openVisit, signIn } from '../fixtures/dashboard/browser.js'
import { sharedSandbox } from '../fixtures/processes/shared-sandbox.js'

const VIEWS = [
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
] as const

const browser = await openBrowser(t)
if (browser !== undefined) {
  const deployment = await sharedSandbox('--edges', '2')
  const { dashboardUrl, identity } = deployment.description
  const ada = identity.users.find(({ email }) => email.startsWith('ada'))

  const askForPassword = async (page: Page): Promise<void> => {
    await page.getByRole('link', { name: /^Sign in/ }).click()
    await page.getByLabel('Password').waitFor()
  }
  const enterPassword = async (page: Page): Promise<void> => {
    await page.getByLabel('Email address').fill(ada?.email ?? '')
    await page.getByLabel('Password').fill(ada?.password ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  await t.test('two tabs sign in at once, and each returns to where it was', async t => {
    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ada')
    await page.getByRole('radio', { name: 'Frankfurt' }).check()
    await page.getByRole('heading', { level: 1, name: 'Frankfurt' }).waitFor()
    const frankfurt = page.url()
    const newYork = frankfurt.replace(/\/fra$/, '/nyc')
    await context.clearCookies()

    const other = await context.newPage()
    await page.reload()
    await other.goto(newYork)
    await page.bringToFront()
    await askForPassword(page)
    await other.bringToFront()
    await askForPassword(other)
    await page.bringToFront()
    await enterPassword(page)
    await page.getByRole('heading', { level: 1, name: 'Frankfurt' }).waitFor()
    await other.bringToFront()
    await enterPassword(other)
    await other.getByRole('heading', { level: 1, name: 'New York' }).waitFor()
    t.equal(page.url(), frankfurt)
    t.equal(other.url(), newYork)
    await page.bringToFront()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Frankfurt' }).waitFor()

    const third = await context.newPage()
    await context.clearCookies({ name: /^slotline-session/ })
    await third.goto(newYork)
    await third.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    await page.bringToFront()
    await page.reload()
    await page.getByRole('link', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Frankfurt' }).waitFor()
    await third.getByRole('heading', { level: 1, name: 'New York' }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('a sign-out that fails is shown, and ends later', async t => {
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ada')
    await page.route('**/api/sign-out', route => route.abort())
    await page.getByRole('button', { name: 'Sign out' }).click()
    const alert = page.getByRole('alert').filter({ hasText: 'You may still be signed in.' })
    await alert.waitFor()
    await look(t, page, 'sign-out-failed', VIEWS)
    await page.unroute('**/api/sign-out')

    await alert.getByRole('button', { name: 'Try again' }).press('Enter')
    await page.getByRole('heading', { name: 'Sign out of the sandbox?' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).press('Enter')
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    t.equal(page.url(), dashboardUrl)
    await askForPassword(page)
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('after a sign-out here alone the provider asks for the password', async () => {
    const { page, context } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ada')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign out of the sandbox?' }).waitFor()
    await page.goto(dashboardUrl)
    await askForPassword(page)
    await enterPassword(page)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await context.close()
  })
}
