import t from 'tap'
import { look, openBrowser, openVisit, viewsOf } from '../fixtures/dashboard/browser.js'
import { startDashboard } from '../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../fixtures/repository.js'

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined) {
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

  await t.test('the status page needs no sign-in and no script', async t => {
    const nowMs = Date.now()
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
      dashboard: { statusPage: true },
      incidents: () => [
        {
          id: '1',
          location: 'fra',
          machine: null,
          reasons: ['behind'],
          detail: '',
          startedAtMs: nowMs - 9 * 3_600_000,
          endedAtMs: nowMs - 8 * 3_600_000,
        },
      ],
    })
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(`${dashboard.url}/status`)
    await page.getByRole('heading', { level: 1, name: 'Some locations are degraded' }).waitFor()
    await look(t, page, 'status', VIEWS, async () => {
      t.match(
        await page.getByRole('row', { name: /Frankfurt/ }).innerText(),
        /Degraded[^]*99\.953 %/,
      )
      t.match(await page.getByRole('listitem').innerText(), /Frankfurt[^]*for 1\.0 h/)
    })
    t.strictSame(faults, [])
    await context.close()
  })
}
