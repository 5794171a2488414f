import t from 'tap'
import { choose, openBrowser, openVisit, signIn } from '../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../fixtures/repository.js'

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('an open page says what changes elsewhere, without asking', async t => {
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
    })
    dashboard.clock.nowMs = Date.now()
    const { accessId } = await dashboard.grant('ada')
    const scope = { accessId, network: 'main', location: 'fra' }
    await dashboard.accessService.generate(scope)
    const { context, page, faults } = await openVisit(browser)
    let asked = 0
    page.on('request', request => {
      if (request.url().endsWith('/api/accesses')) asked += 1
    })
    const opened = page.waitForRequest(/\/api\/events$/)
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await opened
    await choose(page, 'Frankfurt')
    await page.getByLabel('RPC URL, masked').waitFor()

    await page.waitForTimeout(1_500)
    asked = 0
    await page.waitForTimeout(5_000)
    t.equal(asked, 0, 'nothing is asked while nothing changes')

    const within5s = async (text: RegExp): Promise<void> => {
      const startMs = performance.now()
      await page.getByText(text).first().waitFor()
      t.ok(performance.now() - startMs < 5_000, String(text))
    }
    await dashboard.accessService.revoke(scope)
    await within5s(/^No token yet for Frankfurt/)
    t.match(
      await page.getByRole('status').filter({ hasText: 'no token' }).textContent(),
      /^Frankfurt has no token now\./,
    )
    await dashboard.accessService.generate(scope)
    await within5s(/^Active token/)

    await dashboard.restart()
    await dashboard.accessService.end(accessId)
    await within5s(/^This access has ended/)

    dashboard.clock.nowMs += 13 * 3_600_000
    await within5s(/^Your session has ended/)
    t.strictSame(faults, [])
    await context.close()
  })
