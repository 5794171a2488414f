import type { Route } from 'playwright-core'
import t from 'tap'
import {
  axeFaults,
  choose,
  openBrowser,
  openVisit,
  signIn,
} from '../../fixtures/dashboard/browser.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { until } from '../../fixtures/until.js'

const browser = await openBrowser(t)
if (browser !== undefined) {
  const deployment = await sharedSandbox('--edges', '2')
  const { dashboardUrl, locations } = deployment.description
  const { page, context, faults } = await openVisit(browser)
  await page.clock.install()
  await page.goto(dashboardUrl)
  await signIn(page, deployment, 'ada')

  await t.test('each location shows its state, its slot and its distance', async t => {
    const location = (name: string) => page.locator('.is-location').filter({ hasText: name })
    for (const name of ['Frankfurt', 'New York'])
      await location(name)
        .getByText(/^Servingslot [\d,]+[\d.]+ ms$/)
        .waitFor()
    const slotOf = async () =>
      Number(
        /slot ([\d,]+)/
          .exec((await location('Frankfurt').textContent()) ?? '')?.[1]
          ?.replaceAll(',', ''),
      )
    const before = await slotOf()
    t.ok(before > 0)
    await until('it follows the chain', async () => (await slotOf()) > before)
    await page.route(`${new URL(locations[1].rpcUrl).origin}/ping`, route => route.abort())
    // Measured every ten minutes, while the page is used.
    await page.clock.runFor('09:00')
    await page.mouse.move(100, 100)
    // In steps: the time-outs of pings use this clock too.
    await until('the pings are sent again', async () => {
      await page.clock.runFor('00:02')
      return (await location('New York').getByText('not reachable from this').count()) > 0
    })
    t.equal(await location('Frankfurt').getByText('not reachable').count(), 0)
    t.strictSame(await axeFaults(page), [])
    t.strictSame(faults, [])
  })

  await t.test('an answer that takes longer than the interval of refreshes is shown', async t => {
    const slot = page.locator('.is-location').filter({ hasText: 'Frankfurt' })
    const held: Route[] = []
    // Without the stream the page asks by itself.
    await page.route('**/api/events*', route => route.abort())
    await page.reload()
    await slot.getByText(/slot [\d,]+/).waitFor()
    await page.route('**/locations', route => void held.push(route))
    // Two intervals, but less than the time-out of a request, which uses this clock too.
    await page.clock.runFor('00:06')
    await page.clock.runFor('00:06')
    await until('the page asks', () => held.length > 0)
    t.equal(held.length, 1, 'one request at a time')
    const response = await held[0]?.fetch()
    const body = String(await response?.text()).replaceAll(/"slot":\d+/g, '"slot":987654321')
    await held[0]?.fulfill({ contentType: 'application/json', body })
    await slot.getByText('slot 987,654,321').waitFor()
    await page.unroute('**/locations')
    await page.unroute('**/api/events*')
  })

  await t.test('an unused page sends no requests, so that its session can expire', async t => {
    await choose(page, 'New York')
    await page.getByRole('tab', { name: 'Usage' }).click()
    await page.locator('canvas').first().waitFor()
    let requestCount = 0
    page.on('request', () => (requestCount += 1))
    await page.clock.runFor('02:00')
    t.ok(requestCount > 1, `${requestCount} requests while the page is in use`)
    await page.clock.runFor('10:00')
    requestCount = 0
    await page.clock.runFor('05:00')
    t.equal(requestCount, 0)
    await page.mouse.move(200, 200)
    await page.clock.runFor('01:00')
    t.ok(requestCount > 0, 'it resumes on user input')
  })
  await context.close()
}
