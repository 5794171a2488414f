import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  choose,
  clipboardOf,
  copy,
  look,
  openAccess,
  openBrowser,
  openVisit,
  signIn,
  viewsOf,
  untilCount,
} from '../fixtures/dashboard/browser.js'
import { sendFrom } from '../fixtures/server/send-from.js'
import { sharedSandbox } from '../fixtures/processes/shared-sandbox.js'

const VIEWS = viewsOf(
  { width: 360, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'light', hasForcedColors: true },
)

const WRONG = [7, 3, 2] as const
const callOf = (method: string, params: readonly unknown[] = []): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
/** More calls than any burst of the sandbox admits. */
const BATCH = JSON.stringify(
  Array.from({ length: 99 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'getSlot' })),
)

const browser = await openBrowser(t)
if (browser !== undefined)
  await t.test('Ben finds which of his bots failed, with which request', async t => {
    const deployment = await sharedSandbox('--edges', '2')
    const { adminToken, dashboardUrl } = deployment.description
    const { page, context, faults } = await openVisit(browser, VIEWS[0])
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ben')
    await choose(page, 'New York')
    await page.getByRole('button', { name: 'Generate token' }).click()
    const url = await copy(page, 'RPC URL')
    const [, accessId = ''] = /#\/(acc_\w+)\//.exec(page.url()) ?? []
    const admin = (path: string, method: string, body?: object): Promise<Response> =>
      fetch(new URL(`/admin/accesses/${accessId}${path}`, dashboardUrl), {
        method,
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    const { limits } = (await (await admin('', 'GET')).json()) as { limits: object }
    await admin('/amend', 'POST', { limits: { ...limits, requestsBurstMax: 50 } })

    for (let count = 0; count < WRONG[0]; count++)
      t.equal(await sendFrom(url, '8.8.8.8', callOf('getBalance', ['é'])), 200)
    for (let count = 0; count < WRONG[1]; count++)
      t.equal(await sendFrom(url, '8.8.4.4', callOf('getNothing')), 200)
    for (let count = 0; count < WRONG[2]; count++)
      t.equal(await sendFrom(url, '9.9.9.9', BATCH), 429)

    await openAccess(page, 'Usage')
    const card = page.locator('section.card').filter({
      has: page.getByRole('heading', { name: 'Failed requests' }),
    })
    await card.getByLabel('Location').selectOption({ label: 'New York' })
    const groups = card.getByRole('region', { name: 'Groups of failed requests' })
    const rows = card.getByRole('list', { name: 'Failed requests', exact: true }).locator('> li')
    const countOf = async (name: RegExp): Promise<string> => {
      const row = groups.locator('tbody tr').filter({ hasText: name })
      return (await row.locator('td').first().innerText()).replaceAll(/\D/g, '')
    }
    await groups.getByRole('button', { name: /429 · Limit of the access/ }).waitFor()
    t.equal(await countOf(/getBalance -32602/), '7')
    t.equal(await countOf(/-32601/), '3')
    t.equal(await countOf(/429/), '2')
    t.equal(await rows.count(), 12, 'each is listed once')
    await look(t, page, 'failed-requests', VIEWS)

    await card.getByRole('radio', { name: 'Address' }).check()
    t.equal(await countOf(/9\.9\.9\.9/), '2', 'the bot that is over its limit has an address')
    await groups.getByRole('button', { name: '8.8.8.8' }).press('Enter')
    await rows.nth(6).waitFor()
    await untilCount(page, '.failures > li', 7)
    t.match(page.url(), /address=8\.8\.8\.8/)

    await card.getByRole('button', { name: 'Keep parameters for 24 hours' }).press('Enter')
    await card.getByRole('button', { name: 'Stop keeping parameters' }).waitFor()
    const secret = new URL(url).pathname.slice(1)
    const params = [{ name: `it's ${secret}` }]
    t.equal(await sendFrom(url, '8.8.8.8', callOf('getBalance', params)), 200)
    await page.reload()
    await rows.nth(7).waitFor()
    const row = rows.first().getByRole('button').first()
    await row.press('Enter')
    await rows.first().getByText('Size', { exact: true }).waitFor()
    const open = await rows.first().innerText()
    t.match(open, /Refused by\s+Slotline/)
    t.match(open, /\d+ bytes/)
    t.match(open, /Slot\s+[\d,]+/)
    t.match(open, /Duration\s+[\d.]+ ms/)
    t.match(open, '"it\'s slt_[redacted]"')
    t.notMatch(await page.content(), secret)
    await look(t, page, 'failed-request', VIEWS)
    await rows.first().getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('The command is copied.').waitFor()
    t.equal(
      await clipboardOf(page),
      `curl "$SLOTLINE_RPC_URL" -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,` +
        String.raw`"method":"getBalance","params":[{"name":"it'\''s slt_[redacted]"}]}'`,
    )
    const saved = page.waitForEvent('download')
    await card.getByRole('button', { name: /^CSV/ }).press('Enter')
    const lines = readFileSync(await (await saved).path(), 'utf8')
      .trim()
      .split('\r\n')
    t.equal(lines.length, 9)
    t.match(lines[1], /,getBalance,-32602,.*,service,8\.8\.8\.8,/)

    await card.getByRole('button', { name: 'Stop keeping parameters' }).press('Enter')
    await card.getByRole('button', { name: 'Keep parameters for 24 hours' }).waitFor()
    await sendFrom(url, '8.8.8.8', callOf('getBalance', ['secret']))
    await page.reload()
    await rows.nth(8).waitFor()
    await rows.first().getByRole('button').first().press('Enter')
    await rows.first().getByText('Size', { exact: true }).waitFor()
    t.notMatch(await rows.first().innerText(), 'secret')
    await card.getByLabel('Method', { exact: true }).fill('getBlock')
    await page.keyboard.press('Enter')
    await card.getByText('No failed requests match.').waitFor()
    t.strictSame(faults, [])

    await admin('/amend', 'POST', { limits })
    t.equal((await admin('/networks/sandbox/locations/nyc/token', 'DELETE')).status, 204)
    await context.close()
  })
