import t from 'tap'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/usage/scope.js'
import { UsageWriter } from '../../src/usage/store.js'
import {
  choose,
  look,
  openAccess,
  openBrowser,
  openVisit,
  show,
  signIn,
  untilCount,
} from '../fixtures/dashboard/browser.js'
import { ADA, startDashboard } from '../fixtures/dashboard/dashboard.js'
import { ownDir } from '../fixtures/own-dir.js'
import { repositoryPath } from '../fixtures/repository.js'
import { openUsage, usageIn } from '../fixtures/usage/usage.js'

const PAGES = repositoryPath('dist/dashboard/pages/')
const VIEWS = [
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
] as const
const DAYS = 30
const CALLS = 12

/** As a person types it, whose browser has this time zone. */
const toLocal = (atMs: number): string =>
  new Date(atMs - new Date(atMs).getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)

/** Requests of an hour: more by day than by night. */
const requestsAt = (atMs: number): number => 40 + ((Math.floor(atMs / HOUR_MS) * 7) % 24) * 9

/** Counts what an edge would have until now; returns the requests, and those with a method. */
const countDays = async (dataDir: string, accessId: string, nowMs: number) => {
  const usage = openUsage(dataDir)
  const writer = new UsageWriter(dataDir)
  let [total, calls] = [0, 0]
  const firstMs = (Math.floor(nowMs / DAY_MS) - DAYS + 1) * DAY_MS
  for (let atMs = firstMs; atMs <= nowMs; atMs += HOUR_MS) {
    const meter = usage.meterOf({ accessId, network: 'main', location: 'fra' })
    meter.addRequests(requestsAt(atMs), atMs)
    for (let count = 0; count < CALLS; count++) {
      const failure = count % 4 === 0 ? { code: count % 8 === 0 ? -32_602 : -32_005 } : undefined
      meter.addCall('getSlot', { failure, elapsedMs: 2 ** (count - 4) }, atMs)
    }
    total += requestsAt(atMs)
    calls += CALLS
    usage.sweep(atMs)
    await writer.record()
  }
  return { total, calls }
}

const browser = await openBrowser(t)
if (browser !== undefined) {
  const dataDir = ownDir(t)
  const nowMs = Date.now()
  const usage = usageIn(dataDir, Date.now)
  const dashboard = await startDashboard(t, { usage, pagesDir: PAGES })
  const { accessId } = await dashboard.grant(ADA.subject)
  const { total, calls } = await countDays(dataDir, accessId, nowMs)
  const usageCells = openUsage(dataDir, 1)

  const { page, faults } = await openVisit(browser, VIEWS[0])
  await page.goto(dashboard.url)
  await signIn(page, [ADA], 'ada')
  await choose(page, 'Frankfurt')
  await page.getByRole('tab', { name: 'Usage' }).click()

  await t.test('30 days by minute, hour and day', async t => {
    const requests = page.locator('.tile').filter({ hasText: 'Requests' }).locator('dd')
    const shows = (count: number) =>
      requests.filter({ hasText: new RegExp(`^${count.toLocaleString('en')}$`) }).waitFor()

    await page.getByRole('radio', { name: '30 days' }).check()
    await shows(total)
    await page.getByText('Days are in UTC.').waitFor()
    await look(t, page, 'usage-30-days', VIEWS)
    await page.getByRole('radio', { name: 'Table' }).first().check()
    const rows = page.getByRole('region', { name: 'Requests as a table' }).getByRole('row')
    t.equal(await rows.count(), DAYS + 1)
    const dayStartMs = (Math.floor(nowMs / DAY_MS) - 3) * DAY_MS
    const hours = Array.from({ length: 24 }, (_, hour) => dayStartMs + hour * HOUR_MS)
    const ofDay = hours.reduce((sum, atMs) => sum + requestsAt(atMs), 0)
    const row = new RegExp(`\\s${ofDay.toLocaleString('en')}\\s`)
    for (const view of VIEWS.toReversed()) {
      await show(page, view)
      t.match(await rows.nth(4).innerText(), row)
    }

    await page.getByRole('radio', { name: '7 days' }).check()
    // An hour each; those of 30 days are shown until the answer.
    await rows.nth(168).waitFor()
    t.equal(await rows.count(), 169)
    await page.getByRole('radio', { name: 'Chart' }).first().check()
    await look(t, page, 'usage-7-days', VIEWS)

    await page.getByRole('radio', { name: '1 hour' }).check()
    const untilMs = dayStartMs + 5 * HOUR_MS + 20 * MINUTE_MS
    const until = page.getByLabel('Until', { exact: true })
    await until.fill(toLocal(untilMs))
    await shows(requestsAt(dayStartMs + 5 * HOUR_MS))
    await page.getByRole('button', { name: 'Earlier' }).press('Enter')
    await shows(requestsAt(dayStartMs + 4 * HOUR_MS))
    await look(t, page, 'usage-of-a-past-hour', VIEWS)
    await page.getByRole('button', { name: 'Later' }).press('Enter')
    await shows(requestsAt(dayStartMs + 5 * HOUR_MS))
    await page.getByRole('button', { name: 'Now' }).press('Enter')
    await page.getByRole('button', { name: 'Now' }).waitFor({ state: 'detached' })
    t.equal(await page.getByRole('button', { name: 'Later' }).getAttribute('aria-disabled'), 'true')

    // A time of one's own: from an hour with requests until another one.
    const begin = dayStartMs + 4 * HOUR_MS
    await page.getByLabel('From', { exact: true }).fill(toLocal(begin))
    await page.waitForURL(/from=\d+&until=\d+/)
    await until.fill(toLocal(begin + HOUR_MS))
    await shows(requestsAt(begin))
    t.match(page.url(), `?from=${begin}&until=${begin + HOUR_MS}`)
    await page.reload()
    await shows(requestsAt(begin))
    t.equal(await until.inputValue(), toLocal(begin + HOUR_MS))
    await until.fill(toLocal(begin + HOUR_MS + MINUTE_MS))
    await shows(requestsAt(begin) + requestsAt(begin + HOUR_MS))
    await look(t, page, 'usage-chosen-time', VIEWS)
    await page.getByLabel('From', { exact: true }).fill(toLocal(begin + HOUR_MS))
    // Of one minute: a column.
    await shows(requestsAt(begin + HOUR_MS))
    await page.getByRole('radio', { name: 'Table' }).first().check()
    await untilCount(page, '.plot tbody tr', 1)
    await page.getByRole('radio', { name: '5 minutes', exact: true }).check()
    await untilCount(page, '.plot tbody tr', 5)
    await shows(requestsAt(begin + HOUR_MS))
    await page.getByRole('radio', { name: '15 minutes' }).check()
    await untilCount(page, '.plot tbody tr', 15)
    await page.getByRole('button', { name: 'Now' }).press('Enter')
    await page.getByRole('radio', { name: 'Chart' }).first().check()
    t.strictSame(faults, [])
  })

  await t.test('each method with its errors and percentiles', async t => {
    const card = page.getByRole('region', { name: 'By method' })
    await page.getByRole('radio', { name: '30 days' }).focus()
    await page.keyboard.press('Space')
    const row = card.locator('tbody tr').filter({ hasText: 'getSlot' })
    // Of each hour 12 calls, three of which fail.
    await row.getByText(calls.toLocaleString('en'), { exact: true }).waitFor()
    const views = VIEWS.flatMap(view => [view, { ...view, hasForcedColors: true }])
    await look(t, page, 'usage-methods', views, async () => {
      const text = await row.innerText()
      t.match(text, new RegExp(`-32602: ${(calls / 6).toLocaleString('en')}`))
      t.match(text, new RegExp(`-32005: ${(calls / 12).toLocaleString('en')}`))
      // From 1/16 ms to 128 ms, each doubled.
      t.match(text, /2(\.\d+)? ms\s+(p95\s+)?1\d\d(\.\d+)? ms\s+(p99\s+)?1\d\d/)
      const cut = await card.locator('.scroll').evaluate(one => one.scrollWidth - one.clientWidth)
      t.equal(cut, 0, 'every column is visible')
    })
    t.strictSame(faults, [])
  })

  await t.test('one range is that of everything on the page of the access', async t => {
    const nyc = usageCells.meterOf({ accessId, network: 'main', location: 'nyc' })
    nyc.addRequests(7, nowMs)
    for (let nth = 0; nth < 7; nth++)
      nyc.addCall('getBlock', { elapsedMs: 8, failure: { code: -32_007 } }, nowMs)
    await openAccess(page, 'Usage')
    await page.getByRole('radio', { name: '24 hours' }).check()
    t.match(page.url(), `#/access/${accessId}?range=day`)
    t.equal(await page.title(), 'Usage · Node access · Slotline')
    await page.reload()
    t.ok(await page.getByRole('radio', { name: '24 hours' }).isChecked())
    const methods = page.getByRole('region', { name: 'By method' })
    const ofBlock = methods.locator('tbody tr').filter({ hasText: 'getBlock' })
    t.match(await ofBlock.innerText(), /-32007: 7[^]*8(\.\d+)? ms/)
    const latency = page.getByRole('region', { name: /^Server-side latency/ })
    await latency.getByRole('radio', { name: 'Table' }).check()
    const last = latency.getByRole('region', { name: 'Latency as a table' }).locator('tbody tr')
    t.match(await last.first().innerText(), /ms/)
    await look(t, page, 'usage-of-an-access', VIEWS)
    const errors = page.getByRole('region', { name: 'Errors by code' })
    await errors.getByRole('button', { name: '-32007' }).press('Enter')
    const list = page.getByRole('list', { name: 'Failed requests', exact: true })
    await list.locator('> li').nth(6).waitFor()
    await untilCount(page, '.failures > li', 7)
    await page.getByRole('button', { name: 'Earlier' }).press('Enter')
    await page.getByText('No failed requests match.').waitFor()
    await page.getByRole('button', { name: 'Now' }).press('Enter')
    await untilCount(page, '.failures > li', 7)
    await choose(page, 'New York')
    await page.getByRole('tab', { name: 'Usage' }).click()
    await ofBlock.waitFor()
    t.equal(await page.title(), 'Usage · New York · Slotline')
    t.equal(await page.getByRole('heading', { name: 'Limits in use' }).count(), 0)
    await errors.getByRole('button', { name: '-32007' }).press('Enter')
    await page.locator('#failures-heading:focus').waitFor()
    t.match(page.url(), `#/access/${accessId}?code=-32007&location=nyc&at=failures`)
    await untilCount(page, '.failures > li', 7)
    await choose(page, 'Frankfurt')
    await page.getByRole('tab', { name: 'Usage' }).click()
    await methods.locator('tbody tr').filter({ hasText: 'getSlot' }).waitFor()
    t.equal(await ofBlock.count(), 0)
    t.strictSame(faults, [])
  })
}
