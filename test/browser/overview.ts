import t from 'tap'
import {
  axeFaults,
  look,
  openBrowser,
  openVisit,
  saveScreenshot,
  signIn,
  viewsOf,
} from '../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { ownDir } from '../fixtures/own-dir.js'
import { repositoryPath } from '../fixtures/repository.js'
import { isSoak } from '../fixtures/soak.js'
import { openUsage } from '../fixtures/usage/usage.js'
import type { Test } from 'tap'

const PAGES = repositoryPath('dist/dashboard/pages/')
const LABELS = [
  'Bot 1',
  'الإنتاج',
  '東京 本番',
  'A very long name of an access that does not fit in one line of the list',
]
const VIEWS = viewsOf(
  { width: 360, scheme: 'light' },
  { width: 360, scheme: 'dark' },
  { width: 768, scheme: 'light' },
  { width: 1280, scheme: 'light' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'dark', hasForcedColors: true },
)

/** A dashboard where Ada has this number of accesses, the first with a token and traffic. */
const setUp = async (t: Test, count: number) => {
  const dataDir = ownDir(t)
  const dashboard = await startDashboard(t, { dataDir, pagesDir: PAGES })
  const { accessService, clock } = dashboard
  const ids: string[] = []
  for (let index = 0; index < count; index++) {
    const { accessId } = await dashboard.grant('ada')
    ids.push(accessId)
    const label = LABELS[index]
    if (label !== undefined) await accessService.relabel(accessId, label)
  }
  const [accessId = ''] = ids
  const scope = { accessId, network: 'main', location: 'nyc' }
  const { tail } = await accessService.generate(scope)
  const meter = openUsage(dataDir).meterOf(scope)
  for (let hour = 23; hour >= 0; hour--)
    meter.addRequests(1_000 + ((hour * 7_919) % 5_000), clock.nowMs - hour * 3_600_000)
  meter.addRefused('address', '192.0.2.7', clock.nowMs)
  return { ...dashboard, ids, tail }
}

/** More than the list has room for. The page loads what each key press selects. */
const MANY = isSoak ? 50 : 14

const browser = await openBrowser(t)
if (browser !== undefined) {
  await t.test('the overview is first: it is searched, named, and leads to each scope', async t => {
    const { url, ids, tail } = await setUp(t, 3)
    const { page, context, faults } = await openVisit(browser)
    let overviews = 0
    page.on('request', request => (overviews += request.url().endsWith('/api/overview') ? 1 : 0))
    await page.goto(url)
    await signIn(page, [ADA], 'ada')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const scopes = page.locator('.overview-scope')
    await page.getByText('3 accesses, 6 locations, 1 token').waitFor()
    t.equal(await scopes.count(), 6)
    await page.getByText('1 location may need your attention.').waitFor()
    t.equal(overviews, 1, 'one request for all of them')
    const used = scopes.filter({ hasText: `Token …${tail}` })
    t.match(await used.textContent(), /New York · Mainnet.*Behind.*1 refused attempt/)
    t.match(await used.textContent(), /1,000 in the last hour[\d,]{6,} in 24 hours/)
    t.match(
      await used.getByRole('img').getAttribute('aria-label'),
      /^Requests by hour, at most [\d,]+, 1,000 in the last$/,
    )

    const search = page.getByRole('searchbox', { name: 'Find an access or a location' })
    await search.fill('tokyo')
    await page.getByText('Nothing matches “tokyo”.').waitFor()
    await search.fill(`york ${tail.toLowerCase()}`)
    await page.getByText('1 access, 1 location, 1 token').waitFor()
    t.equal(await page.getByRole('radio', { name: 'acc_' }).count(), 1, 'in the list as well')
    await search.fill('東京')
    await page.getByText('1 access, 2 locations, 0 tokens').waitFor()

    const group = page.getByRole('region', { name: '東京 本番' })
    await group.getByRole('button', { name: /^Rename/ }).press('Enter')
    const field = page.getByRole('textbox', { name: 'Name' })
    t.equal(await field.inputValue(), '東京 本番')
    t.strictSame(await axeFaults(page), [])
    await field.fill('bad \u202e name')
    await field.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'marks of direction' }).waitFor()
    await saveScreenshot(page, 'label-dialog')
    await field.fill('東京 👩‍🚀')
    await field.press('Enter')
    await page.getByRole('region', { name: '東京 👩‍🚀' }).waitFor()
    await search.fill('')

    const marks = used.locator('.badge')
    await marks.filter({ hasText: 'Behind' }).press('Enter')
    await page.locator('#incidents-heading:focus').waitFor()
    t.match(page.url(), `#/access/${ids[0]}?at=incidents`)
    await page.goBack()
    await marks.filter({ hasText: '1 refused attempt' }).press('Enter')
    await page.locator('#refused-heading:focus').waitFor()
    t.match(page.url(), `#/${ids[0]}/main/nyc/usage?at=refused`)
    await page.goBack()
    await page.getByRole('region', { name: 'Bot 1' }).getByRole('link', { name: 'Bot 1' }).click()
    await page.getByRole('heading', { level: 1, name: 'Bot 1' }).waitFor()
    t.match(page.url(), `#/access/${ids[0]}`)
    t.equal(await page.title(), 'Usage · Bot 1 · Slotline')
    await look(t, page, 'access', VIEWS.slice(0, 2))
    await page.goBack()
    await used.getByRole('link', { name: 'New York' }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'New York' }).waitFor()
    t.match(page.url(), `#/${ids[0]}/main/nyc`)
    await page.getByRole('link', { name: 'Overview' }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.goBack()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'New York' }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('the first steps are listed, and each row without a token has a button', async t => {
    const dataDir = ownDir(t)
    const dashboard = await startDashboard(t, { dataDir, pagesDir: PAGES })
    const { accessId } = await dashboard.grant('ada')
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboard.url)
    await signIn(page, [ADA], 'ada')
    const steps = page.getByRole('region', { name: 'First steps' }).getByRole('listitem')
    await steps.nth(4).waitFor()
    t.match((await steps.allInnerTexts()).join(), /^(?:.*not done yet,?\s*){5}$/s)
    await look(t, page, 'first-steps', VIEWS.slice(0, 2))
    await page.getByRole('button', { name: 'Generate a token for New York' }).press('Enter')
    await page.getByLabel('RPC URL, masked').waitFor()
    t.match(page.url(), `#/${accessId}/main/nyc`)
    openUsage(dataDir)
      .meterOf({ accessId, network: 'main', location: 'nyc' })
      .addRequests(1, dashboard.clock.nowMs)
    await page.getByRole('link', { name: 'Overview' }).press('Enter')
    const done = (text: string) => steps.filter({ hasText: text }).filter({ hasText: ', done' })
    await done('Make a first call').waitFor()
    await done('Generate a token').waitFor()
    t.equal(await steps.filter({ hasText: 'not done yet' }).count(), 3)
    t.equal(await page.getByRole('button', { name: /^Generate a token/ }).count(), 1)
    await steps.getByRole('link', { name: 'Set an alert webhook' }).press('Enter')
    await page.getByRole('heading', { name: 'Alert webhook' }).waitFor()
    t.match(page.url(), `#/access/${accessId}/settings`)
    t.equal(await page.title(), 'Settings · Node access · Slotline')
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('many accesses fit each window, and each is reached by keyboard', async t => {
    const { url } = await setUp(t, MANY)
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(url)
    await signIn(page, [ADA], 'ada')
    const list = page.locator('.access-list')
    const radios = list.getByRole('radio')
    for (const view of VIEWS) {
      await page.getByText(`${MANY} accesses, ${2 * MANY} locations, 1 token`).waitFor()
      await look(t, page, 'overview-many', [view])
      const { height = 0 } = (await list.boundingBox()) ?? {}
      t.ok(height > 100 && height <= 340, `the list has ${height} px`)

      t.equal(await radios.count(), MANY)
      await radios.first().focus()
      for (let step = 0; step < MANY - 1; step++) await page.keyboard.press('ArrowDown')
      t.ok(await radios.last().isChecked())
      const box = await radios.last().boundingBox()
      const { y = 0 } = (await list.boundingBox()) ?? {}
      t.ok(box !== null && box.y >= y - 1 && box.y + box.height <= y + height + 1, 'it is in view')
      if (view.width === 1280) {
        await page.evaluate('scrollTo(0, 2000)')
        t.ok(await list.isVisible())
        const after = await list.boundingBox()
        t.ok(after !== null && after.y >= 0 && after.y < 800, 'also after the page is scrolled')
      }
      await page.getByRole('link', { name: 'Overview' }).press('Enter')
    }
    t.strictSame(faults, [])
    await context.close()
  })
}
