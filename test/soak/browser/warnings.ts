import t from 'tap'
import { choose, look, openBrowser, openVisit, signIn } from '../../fixtures/dashboard/browser.js'
import {
  ADA,
  NO_ACCESS_USAGE,
  NO_EVIDENCE,
  NO_PLACE_USAGE,
  startDashboard,
} from '../../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../../fixtures/repository.js'

const MINUTE_MS = 60_000
const VIEWS = [
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
] as const

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('warnings say what happens and what to do, and are announced', async t => {
    const means = { ...NO_ACCESS_USAGE.means }
    let errors = 0
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
      usage: {
        ...NO_PLACE_USAGE,
        evidence: () => ({
          ...NO_EVIDENCE,
          means,
          minutes: [
            {
              network: 'main',
              location: 'fra',
              startMs: Math.floor(dashboard.clock.nowMs / MINUTE_MS) * MINUTE_MS,
              requests: 120,
              errors,
              rateLimited: 0,
              refused: 0,
            },
          ],
        }),
        ofAccess: () => ({ ...NO_ACCESS_USAGE, means }),
      },
    })
    dashboard.clock.nowMs = Date.now()
    await dashboard.grant('ada', {
      kind: 'rental',
      validUntilMs: dashboard.clock.nowMs + 36 * 3_600_000,
    })
    const { context, page, faults } = await openVisit(browser, VIEWS[0])
    await page.clock.install()
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await choose(page, 'Frankfurt')
    await page.getByRole('tab', { name: 'Usage' }).click()
    const warnings = page.getByRole('list', { name: 'Warnings' })
    await warnings.getByText(/^This rental ends in 1 day, on .*Extend it before/).waitFor()
    t.equal(await warnings.getByRole('listitem').count(), 1)
    const announced = page.getByRole('status').filter({ hasText: /^Warning: / })
    t.match(await announced.textContent(), /^Warning: This rental ends in 1 day/)

    means.requestsPerSecond = 8.5
    errors = 42
    await page.clock.runFor(16_000)
    await warnings.getByText(/8\.5 of 10 requests per second, on average over 1 minute/).waitFor()
    await warnings
      .getByText('Errors are rising at Frankfurt, Mainnet: 42 of 120 requests failed in 5 minutes')
      .waitFor()
    t.equal(await warnings.getByRole('listitem').count(), 3)
    t.match(
      await announced.textContent(),
      /^Warning: 85 % of a limit in use.* Warning: Errors are rising/,
      'the new ones only',
    )
    await look(t, page, 'warnings', VIEWS)

    means.requestsPerSecond = 0
    errors = 0
    await page.clock.runFor(16_000)
    await warnings.getByText('Errors are rising').waitFor({ state: 'detached' })
    t.strictSame(faults, [])
    await context.close()
  })
