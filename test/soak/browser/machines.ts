import t from 'tap'
import type { MachineView } from '../../../src/dashboard/api/shapes.js'
import {
  axeFaults,
  choose,
  look,
  openBrowser,
  openVisit,
  saveScreenshot,
  show,
  signIn,
} from '../../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../../fixtures/dashboard/dashboard.js'
import { repositoryPath } from '../../fixtures/repository.js'

const machine = (id: string, more: Partial<MachineView> = {}): MachineView => ({
  id,
  location: id.slice(0, 3),
  slots: [{ network: 'main', slot: 1_234_567, lag: 0 }],
  leaseMs: 4_321,
  revision: 88,
  version: '0.1.0',
  state: 'ok',
  ...more,
})

const MACHINES: readonly MachineView[] = [
  machine('fra-1'),
  machine('fra-2', { slots: [{ network: 'main', slot: 1_234_555, lag: 12 }], state: 'behind' }),
  machine('nyc-1', { leaseMs: 0, state: 'unreachable' }),
  machine('nyc-2', {
    slots: [],
    leaseMs: null,
    revision: null,
    version: null,
    state: 'not-started',
  }),
  machine('ams-1'),
]

const ROWS = [
  'Machine State Slot Lag Lease left Revision Version',
  'fra-1 Frankfurt Serving 1,234,567 0 4.3 s 88 0.1.0',
  'fra-2 Frankfurt Behind 1,234,555 12 4.3 s 88 0.1.0',
  'nyc-1 New York Not reachable 1,234,567 0 0.0 s 88 0.1.0',
  'nyc-2 New York Not started – – – – –',
]

const VIEWS = [
  { width: 360, scheme: 'dark' },
  { width: 360, scheme: 'dark', hasForcedColors: true },
  { width: 1280, scheme: 'dark' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
] as const

const PAGES = repositoryPath('dist/dashboard/pages/')
const AT_MS = new Date(2030, 0, 1, 12, 0, 1, 234).getTime()
const SIGN_IN = { atMs: AT_MS, action: 'sign-in', from: '8.8.8.8' } as const
const AUDIT = [
  { ...SIGN_IN, by: 'ada', machine: 'fra-1' },
  { ...SIGN_IN, by: 'ben', machine: 'fra-2' },
]
const EFFECT = {
  revision: 9,
  atMs: AT_MS,
  isPending: false,
  machines: ['fra-1', 'fra-2', 'fra-3'].map(id => ({ id, by: 'confirmed' as const })),
}

const browser = await openBrowser(t)
if (browser !== undefined) {
  await t.test('the machines of the locations of an access are shown', async t => {
    const dashboard = await startDashboard(t, {
      machines: () => MACHINES,
      pagesDir: PAGES,
      dashboard: { operators: [ADA.subject] },
      audit: async () => ({ entries: AUDIT, next: null, missing: ['nyc-1', 'nyc-2'] }),
      accessService: own => ({
        ...own,
        revoke: async scope => ({ ...(await own.revoke(scope)), effect: EFFECT }),
        regenerate: async scope => ({ ...(await own.regenerate(scope)), effect: EFFECT }),
        restrict: async (scope, address) => ({
          ...(await own.restrict(scope, address)),
          effect: EFFECT,
        }),
      }),
    })
    await dashboard.grant(ADA.subject)
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    await choose(page, 'Frankfurt')
    await page.getByRole('tab', { name: 'Machines' }).click()
    const rows = page.getByRole('region', { name: 'Machines' }).getByRole('row')
    await rows.nth(3).waitFor()
    t.match(page.url(), /\/fra\/machines$/)
    await look(t, page, 'machines', VIEWS, async () => {
      const texts = await rows.allInnerTexts()
      const isNarrow = (page.viewportSize()?.width ?? 0) < 560
      t.strictSame(
        texts.map(text => text.split(/\s*[\t\n]\s*/).join(' ')),
        // There each figure has its name beside it.
        isNarrow ? ROWS.slice(1) : ROWS,
      )
    })

    await show(page, { width: 1280, scheme: 'light' })
    await page.getByRole('tab', { name: 'Connect' }).click()
    await page.getByRole('button', { name: 'Generate' }).click()
    await page.getByLabel('Public IPv4 address').fill('8.8.8.8')
    await page.getByRole('button', { name: 'Save' }).click()
    const dead = 'dead on 3 of 3 machines at 12:00:01.234'
    await page.getByText(`Other addresses: ${dead}.`).first().waitFor()
    await page.getByRole('button', { name: 'Regenerate', exact: true }).click()
    await page.getByRole('button', { name: 'Regenerate token' }).click()
    await page.getByText(`the old one is ${dead}.`).first().waitFor()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke token' }).click()
    await page.getByText(`The token is revoked, ${dead}.`).first().waitFor()
    await saveScreenshot(page, 'dead-on-machines')
    t.strictSame(await axeFaults(page), [])

    await page.goto(`${dashboard.url}/#/operator/audit`)
    const log = page.getByRole('region', { name: 'Audit' })
    await log.getByText('Without nyc-1, nyc-2: they did not answer.').waitFor()
    t.match(await log.getByRole('listitem').allInnerTexts(), [
      /sign-in\s+by ada\s+on fra-1/,
      /sign-in\s+by ben\s+on fra-2/,
    ])
    await saveScreenshot(page, 'audit-of-machines')
    t.strictSame(await axeFaults(page), [])
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('without a cluster there is no such tab', async t => {
    const dashboard = await startDashboard(t, { pagesDir: PAGES })
    const { accessId } = await dashboard.grant(ADA.subject)
    const { page, context } = await openVisit(browser)
    await page.goto(`${dashboard.url}/#/${accessId}/main/fra/machines`)
    await signIn(page, [ADA], 'ada')
    await page.getByRole('heading', { level: 1, name: 'Frankfurt' }).waitFor()
    t.strictSame(await page.getByRole('tab').allInnerTexts(), ['Connect', 'Usage'])
    await page.getByRole('button', { name: 'Generate' }).waitFor()
    await context.close()
  })
}
