import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Locator, Route } from 'playwright-core'
import t from 'tap'
import {
  axeFaults,
  choose,
  clipboardOf,
  look,
  openAccess,
  openBrowser,
  openVisit,
  saveScreenshot,
  signIn,
  untilFocused,
  viewsOf,
  untilCount,
} from '../fixtures/dashboard/browser.js'
import { ADA, startDashboard, SUBMISSION_VIEW } from '../fixtures/dashboard/dashboard.js'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { repositoryPath } from '../fixtures/repository.js'
import { createSubmitter } from '../fixtures/submission/sandbox-submitter.js'
import { until } from '../fixtures/until.js'

/** Blocks for which a blockhash is valid, at 50 ms each, and time to notice. */
const EXPIRY_MS = 30_000
const INVALID_COUNT = 30
const VIEWS = viewsOf(
  { width: 360, scheme: 'dark', hasForcedColors: true },
  { width: 360, scheme: 'light' },
  { width: 360, scheme: 'dark' },
  { width: 1280, scheme: 'dark' },
  { width: 1920, scheme: 'light' },
  { width: 1280, scheme: 'light' },
)

const browser = await openBrowser(t)
if (browser !== undefined) {
  const args = ['--edges', '2', '--slot-ms', '50']
  const deployment = await startDeployment(t, { args })
  const { dashboardUrl } = deployment.description
  const { page, faults } = await openVisit(browser)
  await page.goto(dashboardUrl)
  await signIn(page, deployment, 'ada')

  const submitter = createSubmitter(deployment.description)
  const one = await submitter.forLander()
  const poor = await submitter.forLander({ tip: 1n })
  const batch = [await submitter.forLander(), await submitter.forLander()] as const
  const bundle = [await submitter.forRelay()] as const
  const lost = await submitter.forLander({ blockhash: randomBytes(32) })
  const failing = await submitter.forLander({ lamports: 10n ** 17n })
  const refused = await submitter.forRelay({ blockhash: randomBytes(32) })
  const [raced, unpaid] = [await submitter.forLander(), await submitter.forLander()]

  const openTab = async (): Promise<void> => {
    await page.goto(dashboardUrl)
    await choose(page, 'Frankfurt')
    await openAccess(page, 'Submissions')
    await page.getByRole('list', { name: 'Submissions', exact: true }).waitFor()
  }
  const items = page.getByRole('list', { name: 'Submissions', exact: true }).locator('> li')
  const itemOf = (signature: string) =>
    items.filter({ hasText: `${signature.slice(0, 8)}…${signature.slice(-6)}` })
  /** Opens a line to all that is known of a submission. */
  const open = async (item: Locator): Promise<Locator> => {
    const line = item.locator('> button')
    if ((await line.getAttribute('aria-expanded')) === 'false') await line.press('Enter')
    return item
  }

  await t.test('what is sent is seen until it has landed', async t => {
    await submitter.lander(lost)
    await submitter.lander(one)
    await openTab()
    const landed = itemOf(one.signature)
    await landed.getByText('Final', { exact: true }).waitFor()
    await landed.getByText(/^Landed in slot [\d,]+/).waitFor()
    t.match(await landed.textContent(), /\/lander/)
    await itemOf(lost.signature).getByText('Accepted', { exact: true }).waitFor()
    await itemOf(lost.signature)
      .getByText(/^Not seen yet/)
      .waitFor()

    await open(landed)
    const story = await landed.innerText()
    const [, at = ''] = /Slot at receipt\s+([\d,]+)/.exec(story) ?? []
    const [, slot = '', slots = ''] =
      /Landed in slot ([\d,]+).*, after (\d+) slots?,/.exec(story) ?? []
    const [from, to] = [at, slot].map(text => Number(text.replaceAll(',', '')))
    t.equal(Number(to) - Number(from), Number(slots))
    t.match(story, /Received\s+\w+ \d+, \d\d:\d\d:\d\d\.\d{3}/)
    t.match(story, /Sent\s+\d\d:\d\d:\d\d\.\d{3}, after \d+ ms/)
    t.match(story, /Answered\s+\d\d:\d\d:\d\d\.\d{3}, after \d+ ms/)
    t.match(story, /lander\s+accepted, sent after .* ms, answered after .* ms, HTTP status 200/)
    const [tipAccount] = deployment.description.tips.lander
    t.match(story, new RegExp(`Tip of 0\\.001 SOL to\\s+Copy tip account\\s+${tipAccount}`))
    await landed.getByRole('button', { name: /^Copy signature/ }).click()
    await page.getByText('signature copied').waitFor()
    t.equal(await clipboardOf(page), one.signature)
    const link = landed.getByRole('link', { name: /^Explorer/ })
    t.equal(
      await link.getAttribute('href'),
      `https://explorer.solana.com/tx/${one.signature}?cluster=custom`,
    )

    await submitter.landerBatch([...batch, poor])
    await submitter.relayBundle(bundle)
    await submitter.relay([refused])
    await submitter.lander(failing)
    await submitter.post('/lander', 'not JSON')
    await submitter.post('/race?response=json', raced.bytes, 'application/octet-stream')
    await submitter.relay([unpaid])
    const ofBatch = await open(itemOf(batch[0].signature))
    await ofBatch.getByText('Partly landed', { exact: true }).waitFor()
    await ofBatch.getByText('2 of 3 transactions accepted', { exact: true }).waitFor()
    const landedOf = ofBatch
      .getByRole('list', { name: 'Transactions' })
      .getByText(/^Landed in slot/)
    await landedOf.nth(1).waitFor()
    t.equal(await landedOf.count(), 2)
    t.match(await ofBatch.locator('> button').innerText(), /2 of 3 landed\. 2 of 3 transactions/)
    await itemOf(bundle[0].signature).getByText('Final', { exact: true }).waitFor()
    const ofRefused = itemOf(refused.signature)
    await ofRefused.getByText('Refused', { exact: true }).waitFor()
    await ofRefused.getByText('bundle contains an invalid blockhash').first().waitFor()
    await itemOf(failing.signature)
      .getByText(/^Failed in slot [\d,]+: instruction 1: /)
      .waitFor()
    await items.filter({ hasText: 'Rejected by Slotline' }).getByText('Parse error').waitFor()
    const rejected = await open(itemOf(unpaid.signature))
    await rejected.getByText('Nothing was sent.').waitFor()
    t.equal(await rejected.getByRole('link').count(), 0, 'no explorer knows what was not sent')
    t.equal(await rejected.getByRole('list', { name: 'Lanes' }).count(), 0)
    const lanes = (await open(itemOf(raced.signature))).getByRole('list', { name: 'Lanes' })
    const answers = (await lanes.getByRole('listitem').allInnerTexts()).toSorted()
    t.match(answers, [
      /^json-rpc\s+accepted, sent after .* ms, answered after .* ms, HTTP status 200/,
      /^octets\s+accepted/,
      /^quic\s+accepted/,
      /^text\s+accepted/,
    ])
    t.strictSame(faults, [])
  })

  await t.test('a file that was cut says so, and is continued', async t => {
    const found = [3, 2, 1].map(id =>
      Object.assign({}, SUBMISSION_VIEW, {
        submissionId: `0190b0a0-0000-7000-8000-00000000000${id}`,
      }),
    )
    const dashboard = await startDashboard(t, {
      pagesDir: repositoryPath('dist/dashboard/pages/'),
      submissionStore: { exportMax: 2 },
      submissions: ({ before, limit }) => {
        const from = 1 + found.findIndex(({ submissionId }) => submissionId === before)
        const submissions = found.slice(from, from + limit)
        const isLast = from + limit >= found.length
        return { submissions, next: isLast ? null : (submissions.at(-1)?.submissionId ?? null) }
      },
    })
    const { accessId } = await dashboard.grant('ada')
    const { page, context, faults } = await openVisit(browser, { width: 360, scheme: 'light' })
    await page.goto(`${dashboard.url}/#/${accessId}/main/fra/submissions`)
    await signIn(page, [ADA], 'ada')
    const saveBy = async (name: RegExp) => {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name }).press('Enter'),
      ])
      const lines = readFileSync(await file.path(), 'utf8')
        .trim()
        .split('\r\n')
      return { name: file.suggestedFilename(), count: lines.length - 1 }
    }
    const part = `submissions-${accessId}-part.csv`
    t.strictSame(await saveBy(/^CSV/), { name: part, count: 2 })
    await page.locator('.notice').getByText(`${part} is saved. It was cut at the limit`).waitFor()
    await look(t, page, 'submissions-part', [
      { width: 360, scheme: 'light' },
      { width: 360, scheme: 'light', hasForcedColors: true },
    ])
    const last = `submissions-${accessId}.csv`
    t.strictSame(await saveBy(/^Save the next part/), { name: last, count: 1 })
    await page.locator('.notice').getByText(`${last} is saved.`, { exact: true }).waitFor()
    t.strictSame(faults, [])
    await context.close()
  })

  await t.test('what never lands is seen to expire', async t => {
    const expired = itemOf(lost.signature)
    await expired.getByText('Expired', { exact: true }).waitFor({ timeout: EXPIRY_MS })
    await expired.getByText(/^Not in a block, expired/).waitFor()
    t.strictSame(await axeFaults(page), [])
    await saveScreenshot(page, 'submissions-states')
    t.strictSame(faults, [])
  })

  await t.test('the summary counts what was sent, by route', async t => {
    const card = page.getByRole('region', { name: 'Landing', exact: true })
    const tile = (name: string) =>
      card.locator('.tile', { has: page.getByText(name, { exact: true }) }).locator('dd')
    // Of /lander one is landed, one failed and one expired; a batch, bundle, refusal and race.
    await card.locator('.tile dd').filter({ hasText: /^7$/ }).waitFor({ timeout: EXPIRY_MS })
    t.equal(await tile('Landed').innerText(), '3\n42.9%')
    t.match(await tile('Median delay').innerText(), /^[\d.]+ m?s\n\d+ slots?$/)
    t.match(await tile('Tips of landed').innerText(), /^0\.\d+ SOL$/)
    const row = (name: string) => card.getByRole('row').filter({ hasText: name })
    const counts = async (name: string): Promise<string[]> =>
      (await row(name).getByRole('cell').allInnerTexts()).slice(0, 2)
    t.strictSame(await counts('/lander '), ['3', '1\n33.3%'])
    t.strictSame(await counts('/relay-bundle'), ['1', '1\n100%'])
    await card.getByRole('radio', { name: 'Locations' }).check()
    t.strictSame(await counts('fra'), ['7', '3\n42.9%'])
    await card.getByRole('radio', { name: 'Lanes' }).check()
    t.strictSame(await counts('Several lanes'), ['1', '1\n100%'])
    await card.getByRole('radio', { name: 'Time' }).check()
    t.ok((await card.getByRole('row').count()) >= 2)
    await look(t, page, 'submissions-landing', VIEWS)
    // One range for the numbers and the list, in the URL.
    for (const [name, id] of [
      ['5 minutes', 'fiveMinutes'],
      ['1 hour', 'hour'],
    ] as const) {
      await page.getByRole('radio', { name, exact: true }).check()
      await card.locator('.tile dd').filter({ hasText: /^7$/ }).waitFor()
      await itemOf(one.signature).waitFor()
      t.ok(page.url().endsWith(`/submissions?range=${id}`))
    }
    await page.getByRole('button', { name: 'Earlier' }).press('Enter')
    await page.getByText(/^No submissions in the range of this page\./).waitFor()
    await card.locator('.tile dd').filter({ hasText: /^0$/ }).first().waitFor()
    await page.getByRole('button', { name: 'Now' }).press('Enter')
    await itemOf(one.signature).waitFor()
    await page.getByRole('radio', { name: '24 hours' }).check()
    t.strictSame(faults, [])
  })

  await t.test('filters and pages, by keyboard alone', async t => {
    for (let count = 0; count < INVALID_COUNT; count++)
      await submitter.post('/lander-submit-bundle', `not JSON ${count}`)
    await openTab()
    await items.nth(24).waitFor()
    t.equal(await items.count(), 25)
    const older = page.getByRole('button', { name: 'Older' })
    await older.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Newest' }).waitFor()
    await page.getByRole('group', { name: 'Older submissions' }).locator(':scope:focus').waitFor()
    await itemOf(one.signature).waitFor()
    t.ok((await items.count()) >= 10)
    await page.getByRole('button', { name: 'Newest' }).click()
    await page.getByRole('button', { name: 'Newest' }).waitFor({ state: 'detached' })

    await page.getByLabel('Route', { exact: true }).focus()
    await page.keyboard.type('/relay-b')
    await itemOf(bundle[0].signature).waitFor()
    t.equal(await items.count(), 1)
    await page.getByRole('button', { name: 'Clear' }).click()
    // The next filter is added to those of the URL.
    await items.nth(24).waitFor()
    await page.getByLabel('State').selectOption({ label: 'Expired' })
    await itemOf(lost.signature).waitFor()
    t.equal(await items.count(), 1)
    await page.getByLabel('State').selectOption({ label: 'No capacity' })
    await page.getByText('No submissions match.').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()

    // The answer to a filter that comes after that of a later one is not shown.
    await items.nth(24).waitFor()
    const held: Route[] = []
    const ofExpired = /\/submissions\?.*state=expired/
    await page.route(ofExpired, route => void held.push(route))
    await page.getByLabel('State').selectOption({ label: 'Expired' })
    await until('it is asked for', () => held.length > 0)
    await page.getByLabel('State').selectOption({ label: 'No capacity' })
    await page.getByText('No submissions match.').waitFor()
    const late = page.waitForResponse(ofExpired)
    for (const route of held) await route.continue()
    t.equal((await late).status(), 200)
    await (await late).finished()
    await page.evaluate('new Promise(done => setTimeout(done, 100))')
    t.equal(await items.count(), 0)
    await page.getByText('No submissions match.').waitFor()
    await page.unroute(ofExpired)
    await page.getByRole('button', { name: 'Clear' }).click()
    const field = page.getByLabel('Signature', { exact: true })
    await field.focus()
    await page.keyboard.type('0OIl')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'This is not a signature' }).waitFor()
    await field.fill(batch[0].signature)
    await page.keyboard.press('Enter')
    await itemOf(batch[0].signature).waitFor()
    await untilCount(page, '.submission', 1)
    t.equal(await page.getByRole('alert').count(), 0)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^CSV/ }).press('Enter'),
    ])
    t.match(page.url(), `/submissions?signature=${batch[0].signature}`)
    t.match(file.suggestedFilename(), /^submissions-acc_\w+\.csv$/)
    const lines = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\r\n')
    t.equal(lines.length, 4, 'the three transactions of the submission that is shown, and a head')
    t.ok(lines[1]?.includes(batch[0].signature))
    // The filters are in the URL: its history and a copy of it have them.
    await page.goBack()
    await items.nth(24).waitFor()
    t.equal(await field.inputValue(), '')
    const nextMinute = Math.ceil(Date.now() / 60_000) * 60_000
    const filtered = page.url().replace(/\?.*/, '')
    const times = `from=${nextMinute - 600_000}&until=${nextMinute}`
    await page.goto(`${filtered}?location=fra&state=expired&${times}`)
    await itemOf(lost.signature).waitFor()
    await page.reload()
    await itemOf(lost.signature).waitFor()
    t.equal(await page.locator('#filter-location').inputValue(), 'fra')
    t.equal(await page.getByLabel('State', { exact: true }).inputValue(), 'expired')
    await page.locator('#filter-location').selectOption({ label: 'New York' })
    await page.getByText('No submissions match.').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await items.nth(24).waitFor()
    await page.goto(`${filtered}?from=${nextMinute - 86_400_000}&until=${nextMinute - 3_600_000}`)
    await page.getByText(/^No submissions in the range of this page\./).waitFor()
    await page.getByRole('tab', { name: 'Submissions' }).focus()
    await untilFocused(page, 'Submissions')
    t.strictSame(await axeFaults(page), [])
    t.strictSame(faults, [])
  })

  await t.test('every submission is seen whole in each window', async t => {
    await openTab()
    await page.getByRole('button', { name: 'Older' }).click()
    const whole = await open(itemOf(one.signature))
    for (const { signature } of [raced, batch[0], refused]) await open(itemOf(signature))
    await look(t, page, 'submissions-all', VIEWS, async () => {
      const hidden = await page
        .locator('.submission *:not(.unseen)')
        .evaluateAll(all =>
          all
            .filter(
              ({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth + 1,
            )
            .map(({ outerHTML }) => outerHTML.slice(0, 120)),
        )
      t.strictSame(hidden, [], 'nothing is cut or must be scrolled to')
      const shown = await whole.locator('.transactions code').first().innerText()
      t.equal(shown, one.signature)
    })
    t.strictSame(faults, [])
  })
}
