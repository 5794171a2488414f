import type { Request } from 'playwright-core'
import t from 'tap'
import {
  axeFaults,
  choose,
  clipboardOf,
  copy,
  look,
  saveScreenshot,
  openAccess,
  openBrowser,
  openVisit,
  browserStateOf,
  show,
  signIn,
  untilFocused,
  VIEW,
  type View,
} from '../fixtures/dashboard/browser.js'
import { startDeployment, statusOf } from '../fixtures/processes/deployment.js'

/** Windows, in the colours in which each is looked at. */
const NARROW = [
  { width: 360, scheme: 'dark' },
  { width: 360, scheme: 'light' },
] as const
const WIDE = [{ width: 1280, scheme: 'dark' }] as const
const FORCED = { width: 1280, scheme: 'dark', hasForcedColors: true } as const
const SHIFTS = `
  window.shifts = 0
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value
  }).observe({ type: 'layout-shift', buffered: true })`

const browser = await openBrowser(t)
if (browser !== undefined) {
  const deployment = await startDeployment(t, { args: ['--edges', '1'] })
  const { dashboardUrl, locations } = deployment.description
  const { page, context, faults } = await openVisit(browser)
  await page.addInitScript(SHIFTS)

  await t.test('without a session the page leads to the sign-in', async t => {
    const finished: Request[] = []
    const note = (request: Request): unknown => finished.push(request)
    page.on('requestfinished', note)
    await page.goto(dashboardUrl)
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    await page.waitForLoadState('networkidle')
    const sizes = await Promise.all(finished.map(request => request.sizes()))
    const byteCount = sizes.reduce(
      (sum, { responseBodySize, responseHeadersSize }) =>
        sum + responseBodySize + responseHeadersSize,
      0,
    )
    t.ok(byteCount > 10_000 && byteCount < 150_000, `${byteCount} bytes on the wire`)
    page.off('requestfinished', note)
    await look(t, page, 'signed-out', [VIEW, ...WIDE, ...NARROW])

    await page.goto(`${dashboardUrl}?sign-in=cancelled`)
    await page.getByText('The sign-in was cancelled.').waitFor()
    t.equal(page.url(), dashboardUrl, 'the address forgets the reason')
    await signIn(page, deployment, 'ada')
    t.equal(page.url(), dashboardUrl, 'no code and no state stay in the address')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    t.equal(await page.getByText('Active token', { exact: true }).count(), 2, 'two dots')
    t.strictSame(faults, [])
  })

  for (const views of [NARROW, WIDE])
    await t.test(`fits ${views[0].width} px, without layout shifts`, async t => {
      const lookAll = (name: string, ...more: readonly View[]) =>
        look<View>(t, page, name, [...views, ...more])
      await show(page, views[0])
      await page.goto(dashboardUrl)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      await lookAll('overview')
      await page.getByRole('radio', { name: 'Frankfurt' }).click()
      await page.getByRole('button', { name: 'Copy RPC URL' }).waitFor()
      await page.getByRole('button', { name: 'Reveal WebSocket URL' }).click()
      const forced = views === WIDE ? [FORCED] : []
      await lookAll('active-token', ...forced)
      await page.getByRole('button', { name: 'Revoke', exact: true }).click()
      await lookAll('confirm-revoke')
      await page.keyboard.press('Escape')
      await page.getByRole('tab', { name: 'Usage' }).click()
      await page.locator('canvas').first().waitFor()
      await lookAll('usage', ...forced)
      if (views === WIDE) {
        await show(page, FORCED)
        const swatches = page.locator('.tile .swatch')
        const colours = await swatches.evaluateAll(all =>
          all.map(one => getComputedStyle(one).backgroundColor),
        )
        t.equal(new Set(colours).size, 4, 'each series has its own')
        await show(page, views[0])
      }
      await page.getByRole('radio', { name: 'Table' }).first().check()
      await lookAll('usage-table')
      await openAccess(page, 'Usage')
      await page.getByRole('radio', { name: 'Chart' }).first().waitFor()
      await page.locator('canvas').first().waitFor()
      await lookAll('access-usage')
      await page.getByRole('tab', { name: 'Submissions' }).click()
      await page.getByRole('heading', { name: 'Submissions' }).waitFor()
      await lookAll('submissions')
      await page.getByRole('tab', { name: 'Settings' }).click()
      await page.getByRole('heading', { name: 'Alert webhook' }).waitFor()
      await lookAll('access-settings')
      const shifts = Number(await page.evaluate('window.shifts'))
      t.ok(shifts < 0.1, `layout shifts of ${shifts.toFixed(3)} in all`)
      t.strictSame(faults, [])
    })

  await t.test('Ada uses the tokens of her access', async t => {
    await show(page, VIEW)
    await page.goto(dashboardUrl)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await saveScreenshot(page, 'overview')
    await choose(page, 'Frankfurt')
    const masked = page.getByLabel('RPC URL, masked')
    const { rpcUrl, wsUrl } = locations[0]
    const token = rpcUrl.slice(rpcUrl.lastIndexOf('/') + 1)
    t.match(await masked.inputValue(), /•/)
    t.notOk((await page.content()).includes(token), 'the token is not in the page')
    t.equal(await copy(page, 'RPC URL'), rpcUrl)
    t.equal(await copy(page, 'WebSocket URL'), wsUrl)
    t.equal(await copy(page, 'token'), token)
    const stream = await copy(page, 'Yellowstone gRPC streaming target')
    t.equal(stream, locations[0].grpcUrl)
    t.match(await masked.inputValue(), /•/, 'copying shows nothing')

    await page.getByRole('button', { name: 'Reveal RPC URL' }).click()
    t.equal(await page.getByLabel('RPC URL', { exact: true }).inputValue(), rpcUrl)
    t.notOk((await browserStateOf(page)).includes(token), 'nothing keeps the token')
    await page.getByRole('button', { name: 'Hide RPC URL' }).click()
    await masked.waitFor()
    t.notOk((await page.content()).includes(token), 'hidden again')

    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(
        /^It works from the service\. Slot [\d,]+, blockhash \w{32,44}, answered in \d+ ms\.$/,
      )
      .first()
      .waitFor()
    await page.route('**/token/check', route => route.abort())
    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(/^The location was not called\./)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Reveal RPC URL' }).click()
    await page.getByLabel('RPC URL', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(/^It works from this browser\. Slot [\d,]+/)
      .first()
      .waitFor()
    await page.route(`${new URL(rpcUrl).origin}/**`, route => route.abort())
    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(/^The location did not answer/)
      .first()
      .waitFor()
    await page.unroute(`${new URL(rpcUrl).origin}/**`)
    await page.unroute('**/token/check')
    await page.getByRole('button', { name: 'Run the read sample' }).click()
    await page
      .locator('.run-sample')
      .getByText(/^HTTP 200 in \d+ ms$/)
      .waitFor()
    t.match(await page.getByLabel('Answer').textContent(), /"blockhash": "\w{32,44}"/)
    await page.getByRole('button', { name: 'Hide RPC URL' }).click()
    await masked.waitFor()
    await page.getByRole('tab', { name: 'Connect' }).focus()
    await page.keyboard.press('ArrowRight')
    await untilFocused(page, 'Usage')
    await page.getByRole('heading', { name: 'Refused attempts' }).waitFor()
    await page.getByRole('radio', { name: 'Table' }).first().check()
    t.equal(
      await page.getByRole('region', { name: 'Requests as a table' }).getByRole('row').count(),
      61,
    )
    await page.getByRole('radio', { name: 'Chart' }).first().check()
    const chart = page.locator('.chart').first()
    await page.locator('canvas').first().waitFor()
    await page.getByText(/^Times are in \S+/).waitFor()
    const { width = 0 } = (await chart.boundingBox()) ?? {}
    const readouts: (string | null)[] = []
    // The newest minute may just have begun, without a request.
    for (const minute of [1, 0]) {
      await chart.hover({ position: { x: width - 24 - (minute * width) / 60, y: 100 } })
      await page.getByText(/^\w+ \d+, \d\d:\d\d to \d\d:\d\d/).waitFor()
      readouts.push(await page.locator('.chart-readout').first().textContent())
    }
    t.match(readouts.join('\n'), /Requests: [1-9]\d*Errors: 0/)
    await saveScreenshot(page, 'usage-hover')
    await page.mouse.move(0, 0)
    const refusal = await fetch(`${locations[0].submitUrl}/relay-bundle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"sendBundle","params":[["AAAA"],{"encoding":"base64"}]}',
    })
    await openAccess(page, 'Submissions')
    const submitted = page.getByRole('list', { name: 'Submissions', exact: true }).locator('> li')
    const row = submitted.filter({ hasText: /Rejected by Slotline.*transaction 0 is malformed/ })
    await row.locator('button[aria-expanded=false]').press('Enter')
    await row.getByRole('button', { name: /^Copy submission id/ }).click()
    await page.getByText('submission id copied').waitFor()
    t.equal(await clipboardOf(page), refusal.headers.get('x-relay-submission-id'))
    t.match(page.url(), /#\/access\/acc_\w+\/submissions$/)
    await page.goBack()
    await page.getByRole('heading', { name: 'Limits in use' }).waitFor()
    t.strictSame(faults, [])
  })

  await t.test('a failed load is shown and can be retried', async t => {
    await page.goto(dashboardUrl)
    await page.route('**/locations/**', route => route.abort())
    await choose(page, 'New York')
    await page.getByRole('alert').filter({ hasText: 'Slotline did not answer' }).waitFor()
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'no-answer')
    await page.unroute('**/locations/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByLabel('RPC URL, masked').waitFor()

    await page.route('**/api/accesses', route => route.fulfill({ json: { accesses: [] } }))
    await page.reload()
    await page.getByRole('heading', { name: 'No access yet' }).waitFor()
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'no-access')
  })

  await t.test('the end of a session removes secrets and leads to the sign-in', async t => {
    await page.unroute('**/api/accesses')
    await page.goto(dashboardUrl)
    await choose(page, 'New York')
    await page.getByRole('button', { name: 'Reveal RPC URL' }).click()
    await page.getByLabel('RPC URL', { exact: true }).waitFor()
    await context.clearCookies({ name: /^slotline-session/ })
    await page.getByLabel('Public IPv4 address').fill('8.8.8.8')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await untilFocused(page, 'Your session has ended')
    t.notOk((await page.content()).includes(new URL(locations[1].rpcUrl).pathname.slice(1)))
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'session-ended')
    t.equal(await statusOf(locations[1].rpcUrl), 200, 'nothing was saved')

    await page.getByRole('link', { name: 'Sign in again' }).click()
    await page.getByRole('heading', { level: 1, name: 'New York' }).waitFor()
    await page.getByRole('button', { name: 'Reveal token' }).click()
    await page.getByRole('button', { name: 'Hide token' }).waitFor()
    const other = await context.newPage()
    await other.goto(dashboardUrl)
    await other.getByRole('button', { name: 'Sign out' }).click()
    await other.getByRole('heading', { name: 'Sign out of the sandbox?' }).waitFor()
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('the page can be used by keyboard alone', async t => {
    const { page, context } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ben')
    const tabTo = async (selector: string): Promise<void> => {
      for (let step = 0; step < 60; step += 1) {
        if (
          (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`)) ===
          true
        )
          return
        await page.keyboard.press('Tab')
      }
      t.fail(`${selector} cannot be reached`)
    }
    await tabTo('input[name=location]')
    await page.keyboard.press('ArrowDown')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await tabTo('[role=tab]')
    await tabTo('.button.is-primary')
    // The list of accesses comes after the panel, and when the next button has the focus.
    let answerList = (): void => {}
    const mayAnswer = new Promise<void>(resolve => (answerList = resolve))
    await page.route('**/api/accesses', route => void mayAnswer.then(() => route.continue()))
    await page.keyboard.press('Enter')
    await page.getByLabel('RPC URL, masked').waitFor()
    await tabTo('.is-copy')
    const listed = page.waitForResponse('**/api/accesses')
    answerList()
    await listed
    await page.unroute('**/api/accesses')
    await tabTo('.is-copy')
    // Looked for before, because it is shown for two seconds.
    const copied = page.getByRole('button', { name: 'Copied RPC URL' }).waitFor()
    await page.keyboard.press('Enter')
    await copied
    t.equal(await statusOf(await clipboardOf(page)), 200)
    await tabTo('.button.is-danger-quiet')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^No token yet/ }).waitFor()
    await context.close()
  })
}
