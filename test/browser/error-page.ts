import t from 'tap'
import { look, openBrowser, openVisit, viewsOf } from '../fixtures/dashboard/browser.js'
import { startDashboard } from '../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../fixtures/repository.js'

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('a missing page looks like the dashboard, and leads to it', async t => {
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
    })
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(`${dashboard.url}/nothing/here`)
    await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()
    t.match(await page.title(), /^There is no such page/)
    await look(t, page, 'not-found', VIEWS, async view => {
      if ('hasForcedColors' in view) return
      const main = page.locator('main')
      const radius = await main.evaluate(element => getComputedStyle(element).borderRadius)
      t.equal(radius, '12px', 'it has its styles')
    })
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    t.equal(new URL(page.url()).pathname, '/')
    t.strictSame(faults, [])
    await context.close()
  })
