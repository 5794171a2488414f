import t from 'tap'
import { choose, openBrowser, openVisit, signIn } from '../../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { ownDir } from '../../fixtures/own-dir.js'
import { repositoryPath } from '../../fixtures/repository.js'
import { isSoak, latencyMax } from '../../fixtures/soak.js'
import { openUsage, usageIn } from '../../fixtures/usage/usage.js'

/** How long the requests of a page are counted. */
const COUNTED_MS = isSoak ? 60_000 : 3_000

const browser = await openBrowser(t)
if (browser !== undefined) {
  await t.test('an open page asks at most once a minute, and shows what happens', async t => {
    const dataDir = ownDir(t)
    const usage = usageIn(dataDir, Date.now)
    const dashboard = await startDashboard(t, {
      ...{ dataDir, usage },
      pagesDir: repositoryPath('dist/dashboard/pages/'),
    })
    dashboard.clock.nowMs = Date.now() + 60_000
    const { accessId } = await dashboard.grant('ada')
    const { context, page, faults } = await openVisit(browser)
    const asked: string[] = []
    page.on('request', request => {
      if (!/\/(api\/events|assets)\b/.test(request.url())) asked.push(request.url())
    })
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    const meter = openUsage(dataDir).meterOf({ accessId, network: 'main', location: 'fra' })
    const settings = `#/access/${accessId}/settings`
    const pages = ['#/', `#/access/${accessId}`, `#/${accessId}/main/fra/usage`, settings]
    for (const hash of pages) {
      await page.evaluate(`location.hash = '${hash}'`)
      await page.waitForTimeout(1_500)
      asked.length = 0
      // What is counted is before the end of the range.
      dashboard.clock.nowMs = Date.now() + 60_000
      meter.addRequests(7, Date.now())
      await page.waitForTimeout(COUNTED_MS)
      const perMinute = (asked.length * 60_000) / COUNTED_MS
      t.ok(asked.length <= 1, `${perMinute} ${asked.join()}`)
      t.comment(`${hash}: ${perMinute} requests a minute`)
      // The page of the location has been sent what was counted meanwhile.
      if (hash.endsWith('/fra/usage'))
        await page
          .locator('.tile')
          .filter({ hasText: /^Requests21$/ })
          .waitFor()
    }
    asked.length = 0
    await dashboard.accessService.addMember(accessId, 'eve@example.com', 'view')
    await page.getByRole('rowheader', { name: 'eve@example.com' }).waitFor()
    const scopes = ['usage:read'] as const
    const validUntilMs = dashboard.clock.nowMs + 60_000
    await dashboard.accessService.makeKey(accessId, { label: 'Bot', scopes, validUntilMs })
    await page.getByText('slk_').waitFor()
    await dashboard.accessService.setAlertRules(accessId, [])
    await page.getByText('No rules.').waitFor()
    t.notMatch(asked.join(), /keys|members|alerts/, 'these are sent')
    t.strictSame(faults, [])
    await context.close()
  })

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
    const opened = page.waitForRequest(/\/api\/events(\?|$)/)
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
      t.ok(performance.now() - startMs < latencyMax(5_000), String(text))
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
}
