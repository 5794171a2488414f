import t from 'tap'
import type { IncidentView } from '../../../src/dashboard/api/incidents/incident-shapes.js'
import {
  choose,
  look,
  openAccess,
  openBrowser,
  openVisit,
  show,
  signIn,
  viewsOf,
} from '../../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../../fixtures/repository.js'

const NOW_MS = Date.now()

const incident = (id: number, more: Partial<IncidentView>): IncidentView => ({
  id: String(id),
  location: 'fra',
  machine: null,
  reasons: ['behind'],
  detail: '',
  startedAtMs: NOW_MS - id * 3_600_000,
  endedAtMs: NOW_MS - id * 3_600_000 + 90_000,
  ...more,
})

const INCIDENTS: readonly IncidentView[] = [
  incident(0, {
    reasons: ['incomplete', 'behind'],
    startedAtMs: NOW_MS - 300_000,
    endedAtMs: null,
  }),
  incident(1, {
    reasons: ['process-restarted'],
    detail: 'edge 0: ended with SIGKILL',
    endedAtMs: NOW_MS - 3_600_000,
  }),
  incident(2, { machine: 'fra-1', reasons: ['lease-expired'] }),
]

const VIEWS = viewsOf(
  { width: 360, scheme: 'dark' },
  { width: 360, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('incidents of a location', async t => {
    const asked: unknown[] = []
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
      incidents: query => {
        asked.push(query)
        return INCIDENTS
      },
    })
    await dashboard.grant('ada')
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await choose(page, 'Frankfurt')
    await page.getByText(/^Frankfurt is degraded: Index incomplete, then Behind, since/).waitFor()
    // Alerts look at those of all locations.
    const [own] = asked.filter(query => 'locations' in Object(query))
    t.strictSame(own, { locations: ['fra', 'nyc'], limit: 50 })
    await openAccess(page, 'Usage')
    const card = page.getByRole('region', { name: 'Incidents' })
    const rows = card.getByRole('listitem')
    await rows.nth(2).waitFor()
    t.equal(await rows.count(), 3)
    t.match(await rows.nth(0).textContent(), /Now.*for 5 minutes so far$/)
    t.match(
      await rows.nth(1).textContent(),
      /^FrankfurtProcess restarted: edge 0: ended with SIGKILL/,
    )
    t.match(await rows.nth(2).textContent(), /^Frankfurtfra-1Lease expired.*for 1 minute$/)
    await look(t, page, 'incidents', VIEWS)
    await page.evaluate('scrollTo(0, 0)')
    await show(page, { width: 1280, scheme: 'light' })
    await choose(page, 'New York')
    await page.getByRole('tab', { name: 'Usage' }).press('Enter')
    await page.getByRole('heading', { name: 'Refused attempts' }).waitFor()
    t.equal(await page.locator('.location-view').getByText('is degraded').count(), 0)
    t.strictSame(faults, [])
    await context.close()
  })
