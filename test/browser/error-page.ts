import t from 'tap'
import {
  axeFaults,
  openBrowser,
  openVisit,
  overflowPx,
  saveScreenshot,
  viewsOf,
} from '../fixtures/dashboard/browser.js'
import { startDashboard } from '../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../fixtures/repository.js'

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('a missing page looks like the dashboard, and leads to it', async t => {
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
    })
    for (const view of viewsOf(
      { width: 360, scheme: 'dark' },
      { width: 1280, scheme: 'light' },
      { width: 1280, scheme: 'dark', hasForcedColors: true },
    )) {
      const { context, page, faults } = await openVisit(browser, view)
      await page.goto(`${dashboard.url}/nothing/here`)
      await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()
      t.match(await page.title(), /^There is no such page/)
      t.equal(await overflowPx(page), 0)
      if (!('hasForcedColors' in view)) {
        t.equal(
          await page.locator('main').evaluate(main => getComputedStyle(main).borderRadius),
          '12px',
          'it has its styles',
        )
      }
      t.strictSame(await axeFaults(page), [])
      await saveScreenshot(page, `not-found-${view.width}-${view.scheme}`)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
      t.equal(new URL(page.url()).pathname, '/')
      t.strictSame(faults, [])
      await context.close()
    }
  })
