import type { Page } from 'playwright-core'
import t from 'tap'
import {
  axeFaults,
  keepPicture,
  openBrowser,
  openVisit,
  overflowPx,
  rememberedBy,
  signIn,
} from '../fixtures/browser.js'
import { startDeployment } from '../fixtures/deployment.js'

const ADA = 0
const BEN = 1

/** The status of one request through a URL, from outside of the browser. */
const statusOf = async (url: string): Promise<number> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getLatestBlockhash' }),
  })
  await response.arrayBuffer()
  return response.status
}

const clipboardOf = async (page: Page): Promise<string> =>
  String(await page.evaluate('navigator.clipboard.readText()'))

const copy = async (page: Page, name: string): Promise<string> => {
  await page.getByRole('button', { name: `Copy ${name}` }).click()
  await page.getByRole('button', { name: `Copied ${name}` }).waitFor()
  return clipboardOf(page)
}

const choose = async (page: Page, location: string): Promise<void> => {
  await page.getByRole('radio', { name: location }).check()
  await page.getByRole('heading', { level: 1, name: location }).waitFor()
}

/** Resolves when the focus is on the element with this text: where those who cannot see the page are led. */
const untilFocused = (page: Page, text: string): Promise<void> =>
  page.locator(':focus').filter({ hasText: text }).waitFor()

const browser = await openBrowser(t)
if (browser !== undefined) {
  const deployment = await startDeployment(t, { args: ['--edges', '2'] })
  const { dashboardUrl, locations } = deployment.description

  await t.test(
    'who is not signed in is led to the sign-in, and nothing is loaded twice',
    async t => {
      const { page, context, faults } = await openVisit(browser)
      let byteCount = 0
      page.on('requestfinished', async request => {
        const { responseBodySize, responseHeadersSize } = await request.sizes()
        byteCount += responseBodySize + responseHeadersSize
      })
      await page.goto(dashboardUrl)
      await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
      await page.waitForLoadState('networkidle')
      t.ok(byteCount > 10_000 && byteCount < 150_000, `${byteCount} bytes on the wire`)
      t.strictSame(await axeFaults(page), [])
      await keepPicture(page, 'signed-out')

      await page.goto(`${dashboardUrl}?sign-in=cancelled`)
      await page.getByText('The sign-in was cancelled.').waitFor()
      t.equal(page.url(), dashboardUrl, 'the address forgets the reason')
      t.strictSame(faults, [])
      await context.close()
    },
  )

  await t.test('Ada uses the tokens of her pass', async t => {
    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, ADA)
    t.equal(page.url(), dashboardUrl, 'no code and no state stay in the address')
    await page.getByRole('heading', { name: 'Choose a location' }).waitFor()
    t.equal(await page.getByText('Active token', { exact: true }).count(), 2, 'two dots')
    await keepPicture(page, 'choose-location')

    await choose(page, 'Frankfurt')
    const masked = page.getByLabel('RPC URL, masked')
    const { rpcUrl, wsUrl } = locations[0]
    const token = rpcUrl.slice(rpcUrl.lastIndexOf('/') + 1)
    t.match(await masked.inputValue(), /•/)
    t.notOk((await page.content()).includes(token), 'the token is not in the page')
    t.equal(await copy(page, 'RPC URL'), rpcUrl)
    t.equal(await copy(page, 'WebSocket URL'), wsUrl)
    t.equal(await copy(page, 'token'), token)
    t.match(await masked.inputValue(), /•/, 'copying shows nothing')

    await page.getByRole('button', { name: 'Reveal RPC URL' }).click()
    t.equal(await page.getByLabel('RPC URL', { exact: true }).inputValue(), rpcUrl)
    t.notOk((await rememberedBy(page)).includes(token), 'nothing keeps the token')
    await page.getByRole('button', { name: 'Hide RPC URL' }).click()
    await masked.waitFor()
    t.notOk((await page.content()).includes(token), 'hidden again')

    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(/^It works\. Slot [\d,]+, blockhash \w{32,44}, answered in \d+ ms\.$/)
      .first()
      .waitFor()
    await page.getByRole('tab', { name: 'Connect' }).focus()
    await page.keyboard.press('ArrowRight')
    await untilFocused(page, 'Usage')
    await page.getByRole('heading', { name: 'Limits in use' }).waitFor()
    await page.getByRole('radio', { name: 'Table' }).check()
    t.equal(
      await page.getByRole('region', { name: 'Requests as a table' }).getByRole('row').count(),
      61,
    )
    await page.getByRole('radio', { name: 'Chart' }).check()
    await page.locator('canvas').waitFor()
    await page.getByRole('tab', { name: 'Submissions' }).click()
    await page.getByRole('heading', { name: 'Recent submissions' }).waitFor()
    t.match(page.url(), /\/fra\/submissions$/)
    await page.goBack()
    await page.getByRole('heading', { name: 'Limits in use' }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('Ben takes a token through all of its life', async t => {
    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, BEN)
    await choose(page, 'New York')
    await page.getByRole('heading', { name: 'No token yet for New York' }).waitFor()
    t.strictSame(await axeFaults(page), [])
    await keepPicture(page, 'no-token')

    await page.getByRole('button', { name: 'Generate token' }).click()
    await page.getByLabel('RPC URL, masked').waitFor()
    await untilFocused(page, 'New York')
    await page.getByRole('radio', { name: 'New York Active token' }).waitFor()
    await page.getByRole('radio', { name: 'Frankfurt No token' }).waitFor()
    const first = await copy(page, 'RPC URL')
    t.equal(await statusOf(first), 200)
    const { origin: elsewhere } = new URL(locations[0].rpcUrl)
    t.equal(await statusOf(`${elsewhere}${new URL(first).pathname}`), 401, 'of one location only')

    const field = page.getByLabel('Public IPv4 address')
    const save = page.getByRole('button', { name: 'Save' })
    const wrong: readonly [typed: string, message: RegExp][] = [
      ['example.com', /host name/],
      ['https://8.8.8.8', /URL/],
      ['8.8.8.8:80', /port/],
      ['8.8.8.0/24', /CIDR/],
      ['2001:db8::1', /IPv6/],
      ['8.8.8.8, 8.8.4.4', /list/],
      ['08.8.8.8', /leading zero/],
      ['0x8.8.8.8', /hexadecimal/],
      ['8.8.8', /fewer than four/],
      ['8.8.8.256', /over 255/],
      ['10.0.0.1', /private/],
      ['127.0.0.1', /reserved/],
    ]
    for (const [typed, message] of wrong) {
      await field.fill(typed)
      await save.click()
      await page.getByRole('alert').filter({ hasText: message }).waitFor()
      t.equal(await field.getAttribute('aria-invalid'), 'true', typed)
    }
    await page.locator('#restriction-address:focus').waitFor()
    t.strictSame(await axeFaults(page), [])
    await keepPicture(page, 'wrong-address')
    t.equal(await statusOf(first), 200, 'a wrong address changes nothing')

    await field.fill(' 8.8.8.8 ')
    await field.press('Enter')
    await page.getByText('Only 8.8.8.8', { exact: true }).waitFor()
    t.equal(await statusOf(first), 403, 'restricted when it is said')
    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(/works from 8\.8\.8\.8 only/)
      .first()
      .waitFor()
    t.equal(await field.inputValue(), '8.8.8.8')

    const regenerate = page.getByRole('button', { name: 'Regenerate', exact: true })
    await regenerate.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await untilFocused(page, 'Cancel')
    t.strictSame(await axeFaults(page), [])
    await keepPicture(page, 'confirm-regenerate')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await untilFocused(page, 'Regenerate')
    t.equal(await copy(page, 'RPC URL'), first, 'cancelled: nothing happened')

    await regenerate.click()
    await page.getByRole('button', { name: 'Regenerate token' }).click()
    await page
      .getByText(/^The new token works/)
      .first()
      .waitFor()
    t.equal(await statusOf(first), 401, 'the old token is dead when it is said')
    await page.getByText('Only 8.8.8.8', { exact: true }).waitFor()
    const second = await copy(page, 'RPC URL')
    t.not(second, first)
    t.equal(await statusOf(second), 403, 'the restriction stays')
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Any address', { exact: true }).waitFor()
    t.equal(await statusOf(second), 200)
    await keepPicture(page, 'active-token')
    t.strictSame(await axeFaults(page), [])

    const other = await context.newPage()
    await other.goto(page.url())
    await other.getByLabel('RPC URL, masked').waitFor()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText(/Your rental stays/).waitFor()
    await page.getByRole('button', { name: 'Revoke token' }).click()
    await page.getByRole('heading', { name: 'No token yet for New York' }).waitFor()
    t.equal(await statusOf(second), 401)
    t.equal(await statusOf(locations[1].rpcUrl), 200, 'somebody else’s token is not touched')
    await other.getByRole('heading', { name: 'No token yet for New York' }).waitFor()
    await page.getByRole('radio', { name: 'New York No token' }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('a change from elsewhere is seen at the next try', async t => {
    const here = await openVisit(browser)
    const there = await openVisit(browser)
    for (const { page } of [here, there]) {
      await page.goto(dashboardUrl)
      await signIn(page, deployment, BEN)
      await choose(page, 'Frankfurt')
      await page.getByRole('button', { name: 'Generate token' }).waitFor()
    }
    await there.page.getByRole('button', { name: 'Generate token' }).click()
    await there.page.getByLabel('RPC URL, masked').waitFor()
    await here.page.getByRole('button', { name: 'Generate token' }).click()
    await here.page
      .getByText(/changed somewhere else/)
      .first()
      .waitFor()
    t.equal(await copy(here.page, 'RPC URL'), await copy(there.page, 'RPC URL'))

    await there.page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await there.page.getByRole('button', { name: 'Revoke token' }).click()
    await there.page.getByRole('heading', { name: /^No token yet/ }).waitFor()
    await here.page.getByRole('button', { name: 'Copy RPC URL' }).click()
    await here.page.getByRole('heading', { name: /^No token yet/ }).waitFor()
    await here.page
      .getByText(/changed somewhere else/)
      .first()
      .waitFor()
    t.strictSame([...here.faults, ...there.faults], [])
    await here.context.close()
    await there.context.close()
  })

  await t.test('a session that ends takes the secrets from the screen, and leads back', async t => {
    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, ADA)
    await choose(page, 'New York')
    await page.getByRole('button', { name: 'Reveal RPC URL' }).click()
    await page.getByLabel('RPC URL', { exact: true }).waitFor()
    const other = await context.newPage()
    await other.goto(dashboardUrl)
    await other.getByRole('button', { name: 'Sign out' }).click()
    await other.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    await page.getByLabel('Public IPv4 address').fill('8.8.8.8')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await untilFocused(page, 'Your session has ended')
    t.notOk((await page.content()).includes(new URL(locations[1].rpcUrl).pathname.slice(1)))
    t.strictSame(await axeFaults(page), [])
    await keepPicture(page, 'session-ended')
    t.equal(await statusOf(locations[1].rpcUrl), 200, 'nothing was saved')

    await page.getByRole('link', { name: 'Sign in again' }).click()
    await page.getByRole('heading', { level: 1, name: 'New York' }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('the keyboard alone is enough', async t => {
    const { page, context } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, BEN)
    const tabTo = async (selector: string): Promise<void> => {
      for (let step = 0; step < 40; step += 1) {
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
    await page.keyboard.press('Enter')
    await page.getByLabel('RPC URL, masked').waitFor()
    await tabTo('.is-copy')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Copied RPC URL' }).waitFor()
    t.equal(await statusOf(await clipboardOf(page)), 200)
    await tabTo('.button.is-danger-quiet')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^No token yet/ }).waitFor()
    await context.close()
  })

  for (const view of [
    { width: 360, scheme: 'dark' },
    { width: 360, scheme: 'light' },
    { width: 1280, scheme: 'dark' },
  ] as const)
    await t.test(`fits ${view.width} px in ${view.scheme}, and stands still`, async t => {
      const { page, context, faults } = await openVisit(browser, view)
      await page.addInitScript(`
        window.shifts = 0
        new PerformanceObserver(list => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value
        }).observe({ type: 'layout-shift', buffered: true })`)
      const look = async (name: string): Promise<void> => {
        t.equal(await overflowPx(page), 0, `${name} is not wider than the window`)
        if (view.scheme === 'dark') t.strictSame(await axeFaults(page), [], name)
        await keepPicture(page, `${name}-${view.width}-${view.scheme}`)
      }
      await page.goto(dashboardUrl)
      await look('signed-out')
      await signIn(page, deployment, ADA)
      await page.getByRole('heading', { name: 'Choose a location' }).waitFor()
      await look('choose-location')
      await page.getByRole('radio', { name: 'Frankfurt' }).click()
      await page.getByRole('button', { name: 'Copy RPC URL' }).waitFor()
      await page.getByRole('button', { name: 'Reveal WebSocket URL' }).click()
      await look('active-token')
      await page.getByRole('button', { name: 'Revoke', exact: true }).click()
      await look('confirm-revoke')
      await page.keyboard.press('Escape')
      await page.getByRole('tab', { name: 'Usage' }).click()
      await page.locator('canvas').waitFor()
      await look('usage')
      await page.getByRole('radio', { name: 'Table' }).check()
      await look('usage-table')
      await page.getByRole('tab', { name: 'Submissions' }).click()
      await page.getByRole('heading', { name: 'Recent submissions' }).waitFor()
      await look('submissions')
      const shifts = Number(await page.evaluate('window.shifts'))
      t.ok(shifts < 0.1, `layout shifts of ${shifts.toFixed(3)} in all`)
      t.strictSame(faults, [])
      await context.close()
    })
}
