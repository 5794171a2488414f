import t from 'tap'
import {
  axeFaults,
  choose,
  copy,
  saveScreenshot,
  openAccess,
  openBrowser,
  openVisit,
  signIn,
  untilFocused,
} from '../fixtures/dashboard/browser.js'
import { statusOf } from '../fixtures/processes/deployment.js'
import { sharedSandbox } from '../fixtures/processes/shared-sandbox.js'
import { openSocket } from '../fixtures/server/socket.js'
import { latencyMax } from '../fixtures/soak.js'

const browser = await openBrowser(t)
if (browser !== undefined) {
  const deployment = await sharedSandbox('--edges', '2')
  const { dashboardUrl, locations, adminToken } = deployment.description

  const administer = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(new URL(`/admin/accesses${path}`, dashboardUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }

  const { page, context, faults } = await openVisit(browser)
  await page.goto(dashboardUrl)
  await signIn(page, deployment, 'ben')

  await t.test('Ben creates, changes and revokes a token', async t => {
    await choose(page, 'New York')
    await page.getByRole('heading', { name: 'No token yet for New York' }).waitFor()
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'no-token')

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
      ['8.8.8.8.', /ends with a dot/],
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
    await saveScreenshot(page, 'wrong-address')
    t.equal(await statusOf(first), 200, 'a wrong address changes nothing')

    await field.fill(' 8.8.8.8 ')
    await field.press('Enter')
    await page.getByRole('button', { name: 'Restrict token' }).click()
    await page.getByText('Only 8.8.8.8', { exact: true }).waitFor()
    t.equal(await statusOf(first), 403, 'restricted once the page reports it')
    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(/token is restricted to 8\.8\.8\.8/)
      .first()
      .waitFor()
    t.equal(await field.inputValue(), '8.8.8.8')

    const regenerate = page.getByRole('button', { name: 'Regenerate', exact: true })
    await regenerate.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await untilFocused(page, 'Cancel')
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'confirm-regenerate')
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
    t.equal(await statusOf(first), 401, 'the old token is refused once the page reports it')
    await page.getByText('Only 8.8.8.8', { exact: true }).waitFor()
    const second = await copy(page, 'RPC URL')
    t.not(second, first)
    t.equal(await statusOf(second), 403, 'the restriction stays')
    await field.fill('')
    await save.click()
    await page.getByText('Any address', { exact: true }).waitFor()
    t.equal(await statusOf(second), 200, 'a blank field lifts it')

    const { port, pathname } = new URL(second)
    const socket = await openSocket(Number(port), { path: pathname })
    await regenerate.click()
    await page.getByLabel('Current token').selectOption('Works for 1 minute')
    await page.getByText(/^The current token works for 1 minute more/).waitFor()
    t.strictSame(await axeFaults(page), [])
    await page.getByRole('button', { name: 'Regenerate token' }).click()
    await page.getByText(/^The former token .* works until \d\d:\d\d:\d\d/).waitFor()
    const third = await copy(page, 'RPC URL')
    t.strictSame([await statusOf(second), await statusOf(third)], [200, 200], 'both work')
    t.match(await socket.call('getHealth'), { result: 'ok' }, 'and so does an open WebSocket')
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'former-token')
    await page.getByRole('button', { name: 'End it now' }).press('Enter')
    await page.getByText('The former token is invalid.').first().waitFor()
    t.strictSame([await statusOf(second), await statusOf(third)], [401, 200])
    t.match(await socket.closed, { code: 1008, reason: 'token revoked' })
    await saveScreenshot(page, 'active-token')
    t.strictSame(await axeFaults(page), [])

    const other = await context.newPage()
    await other.goto(page.url())
    await other.getByLabel('RPC URL, masked').waitFor()
    await page.bringToFront()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText(/Your rental stays/).waitFor()
    await page.getByRole('button', { name: 'Revoke token' }).click()
    await page.getByRole('heading', { name: 'No token yet for New York' }).waitFor()
    t.equal(await statusOf(third), 401)
    t.equal(await statusOf(locations[1].rpcUrl), 200, 'the token of another user is unchanged')
    await other.getByRole('heading', { name: 'No token yet for New York' }).waitFor()
    await page.getByRole('radio', { name: 'New York No token' }).waitFor()
    t.strictSame(faults, [])
    await other.close()
  })

  await t.test('a change from elsewhere is shown at the next attempt', async t => {
    const other = await openVisit(browser)
    const [here, there] = [other.page, page]
    // One page learns of nothing by itself.
    await here.route('**/api/events*', route => route.abort())
    await here.goto(dashboardUrl)
    await signIn(here, deployment, 'ben')
    for (const one of [here, there]) {
      await choose(one, 'Frankfurt')
      await one.getByRole('button', { name: 'Generate token' }).waitFor()
    }
    await here.route('**/api/accesses', route => route.abort())
    await there.getByRole('button', { name: 'Generate token' }).click()
    await there.getByLabel('RPC URL, masked').waitFor()
    await here.getByRole('button', { name: 'Generate token' }).click()
    await here
      .getByText(/changed in another tab/)
      .first()
      .waitFor()
    t.equal(await copy(here, 'RPC URL'), await copy(there, 'RPC URL'))

    await there.getByRole('button', { name: 'Revoke', exact: true }).click()
    await there.getByRole('button', { name: 'Revoke token' }).click()
    await there.getByRole('heading', { name: /^No token yet/ }).waitFor()
    await here.getByRole('button', { name: 'Copy RPC URL' }).click()
    await here.getByRole('heading', { name: /^No token yet/ }).waitFor()
    await here
      .getByText(/changed in another tab/)
      .first()
      .waitFor()
    t.strictSame([...faults, ...other.faults], [])
    await other.context.close()
  })

  await t.test('usage, refusals and limits are shown', async t => {
    await choose(page, 'New York')
    await page.getByRole('button', { name: 'Generate token' }).click()
    const url = await copy(page, 'RPC URL')
    for (let count = 0; count < 3; count += 1) t.equal(await statusOf(url), 200)
    const elsewhere = new URL(locations[0].rpcUrl).origin + new URL(url).pathname
    t.equal(await statusOf(elsewhere), 401)
    await page.getByLabel('Public IPv4 address').fill('8.8.8.8')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Restrict token' }).click()
    await page.getByText('Only 8.8.8.8', { exact: true }).waitFor()
    t.equal(await statusOf(url), 403)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Any address', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Usage' }).click()
    const tile = (name: string) => page.locator('.tile').filter({ hasText: name }).locator('dd')
    await tile('Requests')
      .filter({ hasText: /^[1-9]/ })
      .waitFor()
    // Other files send some too.
    const before = Number(await tile('Over a limit').textContent())
    const flood = await Promise.all(Array.from({ length: 60 }, () => statusOf(url)))
    t.ok(flood.includes(429), 'the rental is narrow')
    t.ok(flood.includes(200))
    // Of each token that the place has had.
    await page
      .getByRole('cell', { name: /used at another location/ })
      .first()
      .waitFor()
    await page
      .getByRole('cell', { name: /IPv4 restriction/ })
      .first()
      .waitFor()
    const reasons = /used at another location|IPv4 restriction|regenerated or revoked/
    const refused = page.getByRole('cell', { name: reasons })
    // Of the three tokens that were used once each after they were replaced above.
    const old = page.getByRole('list', { name: /^Old tokens/ }).getByRole('listitem')
    for (const text of await old.allTextContents())
      t.match(text, /^Old token ….{4}, still used from 127\.0\.0\.1, 1 time today \(UTC\), last on/)
    t.equal(await old.count(), 3)
    t.equal(Number(await tile('Refused').textContent()), await refused.count())
    const limited = before + flood.filter(status => status === 429).length
    await tile('Over a limit')
      .filter({ hasText: new RegExp(`^${limited}$`) })
      .waitFor()
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'usage')
    await page.getByRole('radio', { name: 'Table' }).first().check()
    const table = page.getByRole('region', { name: 'Requests as a table' })
    const column = await table.locator('tbody td:nth-of-type(3)').allTextContents()
    t.equal(
      column.reduce((sum, text) => sum + Number(text), 0),
      limited,
      'the table has the values of the chart',
    )
    await openAccess(page, 'Usage')
    await page.getByRole('meter', { name: /^Requests/ }).waitFor()
    await page.getByText(/of 10 in the last second/).waitFor()
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'usage-of-an-access')
    t.strictSame(faults, [])
  })

  await t.test('an access is shown as ended, and as valid after its extension', async t => {
    const granted = await administer('', {
      subject: 'renter',
      kind: 'pass',
      product: 'node-access',
      locations: ['fra'],
    })
    const accessId = String(Object.entries(granted ?? {}).find(([key]) => key === 'accessId')?.[1])
    await page.goto(dashboardUrl)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await saveScreenshot(page, 'choose-access')
    t.strictSame(await axeFaults(page), [])
    await page.getByRole('radio', { name: accessId }).check()
    await page.getByRole('tablist', { name: 'Access' }).waitFor()
    await choose(page, 'Frankfurt')
    t.equal(await page.getByRole('radio', { name: 'New York' }).count(), 0, 'not on offer')
    await page.getByRole('button', { name: 'Generate token' }).click()
    const url = await copy(page, 'RPC URL')
    t.equal(await statusOf(url), 200)

    await administer(`/${accessId}/end`, {})
    const endedMs = performance.now()
    t.equal(await statusOf(url), 403)
    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByText(/the access is not active/)
      .first()
      .waitFor()
    await page
      .getByRole('alert')
      .filter({ hasText: /^This access has ended/ })
      .waitFor()
    t.ok(performance.now() - endedMs < latencyMax(5_000), 'the open page says so')
    t.equal(await page.getByRole('button', { name: 'Regenerate', exact: true }).isDisabled(), true)
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'access-ended')

    await administer(`/${accessId}/extend`, { validUntilMs: null })
    await page.reload()
    await page.getByRole('radio', { name: /No end date/ }).waitFor()
    t.equal(await page.getByText(/^This access has ended/).count(), 0)
    t.equal(await copy(page, 'RPC URL'), url, 'its token is unchanged')
    t.equal(await statusOf(url), 200)
    t.strictSame(faults, [])
    await context.close()
  })
}
