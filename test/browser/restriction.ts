import t from 'tap'
import {
  axeFaults,
  choose,
  copy,
  look,
  openBrowser,
  openVisit,
  saveScreenshot,
  show,
  signIn,
  untilFocused,
} from '../fixtures/dashboard/browser.js'
import { openSocket } from '../fixtures/server/socket.js'
import { PROXY, sendFrom } from '../fixtures/server/send-from.js'
import { sharedSandbox } from '../fixtures/processes/shared-sandbox.js'

const browser = await openBrowser(t)
if (browser !== undefined) {
  const deployment = await sharedSandbox('--edges', '2')
  const { dashboardUrl } = deployment.description

  const readFrom = (url: string, address?: string): Promise<number> =>
    sendFrom(url, address, '{"jsonrpc":"2.0","id":1,"method":"getLatestBlockhash"}')

  await t.test('Ben learns whom a restriction refuses before she saves it', async t => {
    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ben')
    await choose(page, 'Frankfurt')
    await page.getByRole('button', { name: 'Generate token' }).click()
    const seen = page.getByRole('list', { name: /^Addresses seen/ }).getByRole('listitem')
    await page.getByText('None. The token was not used.').waitFor()

    const url = await copy(page, 'RPC URL')
    t.equal(await readFrom(url, '8.8.8.8'), 200)
    t.equal(await readFrom(url, '8.8.4.4'), 200)
    const { port, pathname: path } = new URL(url)
    const socket = await openSocket(Number(port), {
      path,
      localAddress: PROXY,
      headers: { 'x-forwarded-for': '2606:4700::1' },
    })
    // The address of a connection is taken with its first request.
    t.equal(await readFrom(url), 200)
    await page.reload()
    await seen.nth(3).waitFor()
    const shown = await seen.allTextContents()
    t.strictSame(shown.map(text => text.replace(/less than.*/, '')).toSorted(), [
      '127.0.0.1',
      '2606:4700::1',
      '8.8.4.4',
      '8.8.8.8',
    ])

    await page.getByRole('button', { name: 'Use this browser’s address' }).click()
    await page
      .getByRole('alert')
      .filter({ hasText: /from 127\.0\.0\.1, which is no public/ })
      .waitFor()
    await page.route('**/api/address', route =>
      route.fulfill({ json: { address: '8.8.8.8', isRestrictable: true } }),
    )
    await page.getByRole('button', { name: 'Use this browser’s address' }).click()
    const field = page.getByLabel('Public IPv4 address')
    await page.locator('#restriction-address:focus').waitFor()
    t.equal(await field.inputValue(), '8.8.8.8')
    await seen.filter({ hasText: '8.8.8.8' }).filter({ hasText: 'Stays allowed' }).waitFor()
    t.equal(await seen.filter({ hasText: 'Would be refused' }).count(), 3)
    await look(t, page, 'restriction-preview', [
      { width: 1280, scheme: 'light' },
      { width: 1280, scheme: 'light', hasForcedColors: true },
    ])

    const save = page.getByRole('button', { name: 'Save' })
    await save.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^3 other addresses have used it in the last 24 hours: /).waitFor()
    await untilFocused(page, 'Cancel')
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'confirm-restrict')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    t.equal(await readFrom(url, '8.8.4.4'), 200, 'cancelled: nothing was saved')
    t.match(await socket.call('getHealth'), { result: 'ok' })

    await save.click()
    await dialog.getByRole('button', { name: 'Restrict token' }).click()
    await page.getByText('Only 8.8.8.8', { exact: true }).waitFor()
    t.match(await socket.closed, { code: 1008, reason: 'address refused' })
    t.equal(await readFrom(url, '8.8.4.4'), 403)
    t.equal(await readFrom(url, '8.8.8.8'), 200)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('Any address', { exact: true }).waitFor()
    t.equal(await readFrom(url, '8.8.4.4'), 200)

    await show(page, { width: 360, scheme: 'dark' })
    await field.fill('8.8.4.4')
    await page.getByText('Would be refused').first().waitFor()
    await look(t, page, 'restriction', [{ width: 360, scheme: 'dark' }])
    // As it was, for the other tests of the sandbox.
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke token' }).click()
    await page.getByRole('heading', { name: 'No token yet for Frankfurt' }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })
}
