// Landing on the page, and what its alert rules find, compared with a load generator that counts
// for itself and asks the chain.
import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { formatPercent } from '../../../src/dashboard/pages/lib/format.js'
import { formatSol } from '../../../src/dashboard/pages/lib/submission-text.js'
import { openBrowser, openVisit, saveScreenshot, signIn } from '../../fixtures/dashboard/browser.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { openReceiver } from '../../fixtures/dashboard/receiver.js'
import { injectFeedFault } from '../../fixtures/ingest/feed-harness.js'
import { startDeployment } from '../../fixtures/processes/deployment.js'
import { isSoak } from '../../fixtures/soak.js'
import { createSubmitter, type Signed } from '../../fixtures/submission/sandbox-submitter.js'
import { followSlots, LandingLedger, type Sent } from '../../fixtures/usage/landing-ledger.js'
import { parseDuration } from '../../fixtures/usage/load-ledger.js'
import { until } from '../../fixtures/until.js'

/** What a blockhash lives for at 50 ms a slot, until its end is counted, on a busy machine. */
const ENDED_MS = 60_000
const FLOOR = 1_000_000n
/** Of a bundle, to the service and to the engine. */
const RELAY_TIP = 1_001_000
/** From the end of an incident until its alert ends, and a round. */
const RESOLVED_MS = 150_000

const LANDER = { route: '/lander', lane: 'lander', tipLamports: Number(FLOOR) }

type Submitter = ReturnType<typeof createSubmitter>

/** Submits by every route, and by one lane and by all: most of it lands, some fails or is lost. */
const submitAll = async (
  submitter: Submitter,
  elsewhere: Submitter,
  ledger: LandingLedger,
): Promise<void> => {
  const sent = async (
    by: Omit<Sent, 'signatures' | 'location'>,
    all: readonly Signed[],
    send: () => Promise<unknown>,
    location = 'Frankfurt',
  ): Promise<void> => {
    const signatures = all.map(({ signature }) => signature)
    await ledger.submit({ ...by, location, signatures }, send)
  }
  const octets = 'application/octet-stream'
  for (let nth = 0; nth < 6; nth++) {
    const tip = FLOOR + BigInt(nth)
    const own = { lane: 'lander', tipLamports: Number(tip) }
    const one = await submitter.forLander({ tip })
    await sent({ ...own, route: '/lander' }, [one], () => submitter.lander(one))
    const text = await submitter.forLander({ tip })
    await sent({ ...own, route: '/send' }, [text], () =>
      submitter.post('/send?response=json', text.bytes, octets),
    )
    const pair = [await submitter.forLander({ tip }), await submitter.forLander({ tip })]
    const double = { ...own, tipLamports: 2 * Number(tip) }
    await sent({ ...double, route: '/lander-submit-batch' }, pair, () =>
      submitter.landerBatch(pair),
    )
    const bundle = [await submitter.forLander({ tip })]
    await sent({ ...own, route: '/lander-submit-bundle' }, bundle, () =>
      submitter.landerBundle(bundle),
    )
    const relayed = [await submitter.forRelay()]
    await sent(
      { route: '/relay-bundle', lane: 'relayBundle', tipLamports: RELAY_TIP },
      relayed,
      () => submitter.relayBundle(relayed),
    )
    const raced = await submitter.forLander({ tip })
    await sent({ ...own, route: '/race', lane: 'Several lanes' }, [raced], () =>
      submitter.post('/race?response=json', raced.bytes, octets),
    )
    // Only one of the lanes protects what it sends.
    const guarded = await submitter.forLander({ tip })
    await sent({ ...own, route: '/race', lane: 'octets' }, [guarded], () =>
      submitter.post('/race?response=json&mev-protect=true', guarded.bytes, octets),
    )
  }
  for (let nth = 0; nth < 3; nth++) {
    const own = LANDER
    const lost = await submitter.forLander({ blockhash: randomBytes(32) })
    await sent(own, [lost], () => submitter.lander(lost))
    const failing = await submitter.forLander({ lamports: 10n ** 17n })
    await sent(own, [failing], () => submitter.lander(failing))
    const far = await elsewhere.forLander()
    await sent(own, [far], () => elsewhere.lander(far), 'New York')
    const refused = [await submitter.forRelay({ blockhash: randomBytes(32) })]
    await sent({ route: '/relay', lane: 'relay', tipLamports: RELAY_TIP }, refused, () =>
      submitter.relay(refused),
    )
  }
}

const landingOf = (page: Page) => {
  const card = page.getByRole('region', { name: 'Landing', exact: true })
  const untilSent = (count: number): Promise<void> =>
    card
      .locator('.tile', { has: page.getByText('Sent', { exact: true }) })
      .locator('dd')
      .filter({ hasText: new RegExp(`^${count}$`) })
      .waitFor({ timeout: ENDED_MS })
  const rows = async (group: string): Promise<readonly string[]> => {
    await card.getByRole('radio', { name: group }).check()
    const found: string[] = []
    for (const row of await card.locator('tbody tr').all()) {
      const cells = await row.locator('th, td').allInnerTexts()
      const [name = '', sent = '', landed = '', , , tips = ''] = cells
      found.push([name, sent, ...landed.split('\n'), tips].join(' | '))
    }
    return found.toSorted()
  }
  /** Delays of a tile or a cell: milliseconds, slots. */
  const delays = (text: string): readonly number[] => {
    const [ms = '', slots = ''] = text.split('\n')
    return [parseDuration(ms), Number(slots.replace(/ slots?$/, ''))]
  }
  const tile = (name: string): Promise<string> =>
    card
      .locator('.tile', { has: page.getByText(name, { exact: true }) })
      .locator('dd')
      .innerText()
  return { card, delays, rows, tile, untilSent }
}

const agree = async (t: Test, page: Page, ledger: LandingLedger): Promise<void> => {
  const { delays, rows, tile, untilSent } = landingOf(page)
  await untilSent(ledger.figures().sent)
  await ledger.settle()
  const { sent, landed, tips } = ledger.figures()
  t.equal(await tile('Landed'), `${landed}\n${formatPercent(landed / sent)}`)
  t.equal(await tile('Tips of landed'), `${formatSol(tips)} SOL`)
  t.strictSame(await rows('Routes'), ledger.rows('route'))
  t.strictSame(await rows('Lanes'), ledger.rows('lane'))
  t.strictSame(await rows('Locations'), ledger.rows('location'))
  const [ms = 0, slots = 0] = delays(await tile('Median delay'))
  const own = ledger.delays(0.5)
  for (const [name, shown, { before, after }] of [
    ['milliseconds', ms, own.ms],
    ['slots', slots, own.slots],
  ] as const)
    t.ok(
      shown > 0 && shown >= before * 0.99 && shown <= after * 1.01,
      `half landed after ${shown} ${name}, by its own count ${before} to ${after}`,
    )
}

/** What the operator sees of the access, and of the service. */
const agreeOfOperator = async (
  t: Test,
  page: Page,
  accessId: string,
  ledger: LandingLedger,
): Promise<void> => {
  const { tile, untilSent } = landingOf(page)
  const { sent, landed, tips } = ledger.figures()
  await untilSent(sent)
  t.equal(await tile('Landed'), `${landed}\n${formatPercent(landed / sent)}`)
  t.equal(await tile('Tips of landed'), `${formatSol(tips)} SOL`)
  const top = page.getByRole('region', { name: 'Top accesses', exact: true })
  const cell = top.locator('tbody tr').filter({ hasText: accessId }).locator('td').last()
  t.equal(await cell.innerText(), `${formatPercent(landed / sent)}\n${landed} of ${sent}`)
}

const rule = (kind: string, threshold: number, windowMinutes = 0, countMin = 0) => ({
  ...{ kind, isOn: true, threshold, windowMinutes, countMin, method: '' },
  ...{ onlyRising: false, sendsResolved: true, webhooks: null },
})

const browser = isSoak ? await openBrowser(t) : undefined
if (browser !== undefined)
  await t.test('landing as a load generator counted it', { timeout: 480_000 }, async t => {
    const args = ['--edges', '2', '--slot-ms', '50', '--traffic', '0']
    const deployment = await startDeployment(t, { args })
    const { dashboardUrl, geyserUrl, identity, landerUrl } = deployment.description
    const { locations } = deployment.description
    const ledger = new LandingLedger(
      deployment.description,
      await followSlots(t, deployment.description),
    )
    const submitter = createSubmitter(deployment.description)
    const elsewhere = createSubmitter({
      ...deployment.description,
      locations: [locations[1], locations[0]],
    })
    const client = new DashboardClient(dashboardUrl)
    await client.signIn(identity.users[0])
    const { accesses } = Object((await client.ask('/api/accesses')).json)
    const access = `/api/accesses/${accesses[0].accessId}`
    const { page, context, faults } = await openVisit(browser)
    await page.goto(dashboardUrl)
    await signIn(page, deployment, 'ada')
    // Six hours: an hour may begin meanwhile.
    await page.goto(`${dashboardUrl}#/access/${accesses[0].accessId}/submissions?range=sixHours`)

    await t.test('sent, landed and tips, by route and lane', async t => {
      await submitAll(submitter, elsewhere, ledger)
      await agree(t, page, ledger)
      // The same by minute, and in the list, which has what has not ended too.
      await page.getByRole('radio', { name: '15 minutes' }).check()
      await agree(t, page, ledger)
      await page.getByRole('radio', { name: '6 hours' }).check()
      const { sent, landed } = ledger.figures()
      t.strictSame([sent, landed], [54, 45])
      await saveScreenshot(page, 'landing-of-a-load')
      t.strictSame(faults, [])
    })
    await t.test('the operator sees the sums, and those of the access', async t => {
      const visit = await openVisit(browser)
      await visit.page.goto(`${dashboardUrl}#/operator/usage?range=day`)
      await signIn(visit.page, deployment, 'olga')
      await agreeOfOperator(t, visit.page, accesses[0].accessId, ledger)
      t.strictSame(visit.faults, [])
      await visit.context.close()
    })

    const receiver = await openReceiver(t)
    const received = (type: string) => receiver.received.filter(({ body }) => body.type === type)
    await client.call('POST', `${access}/webhooks`, { url: receiver.url })
    const rules = [rule('landing-rate-low', 70, 360, 5), rule('location-behind', 100)]
    t.equal((await client.call('PUT', `${access}/alerts`, { rules })).status, 200)
    const warnings = page.getByRole('list', { name: 'Warnings' })

    await t.test(
      'a lander that accepts and lands nothing is an alert until others land',
      async t => {
        t.strictSame(Object((await client.ask(`${access}/warnings`)).json).warnings, [])
        const own = { ...LANDER, location: 'Frankfurt' }
        const isLow = (): boolean => {
          const { sent, landed } = ledger.figures()
          return landed / sent < 0.7
        }
        while (!isLow()) {
          const one = await submitter.forLander()
          const result = { jsonrpc: '2.0', id: 1, result: one.signature }
          const fault = { status: 200, body: JSON.stringify(result), times: 1 }
          await fetch(`${landerUrl}/_control`, { method: 'POST', body: JSON.stringify(fault) })
          const by = { ...own, signatures: [one.signature] }
          t.match(await ledger.submit(by, () => submitter.lander(one)), { result: one.signature })
        }
        const { sent: submissions, landed } = ledger.figures()
        const percent = Math.round((landed * 1_000) / submissions) / 10
        await until('it is sent', () => received('access.landing-rate-low').length > 0, ENDED_MS)
        await warnings.getByText(`${landed} of ${submissions}`).waitFor()
        await agree(t, page, ledger)
        t.match(received('access.landing-rate-low'), [
          { body: { data: { warnings: [{ values: { landed, submissions, percent } }] } } },
        ])
        while (isLow()) {
          const one = await submitter.forLander()
          const by = { ...own, signatures: [one.signature] }
          await ledger.submit(by, () => submitter.lander(one))
          await until('it has landed', async () => {
            await ledger.settle()
            return ledger.figures().landed > landed
          })
        }
        const ended = 'access.landing-rate-low.resolved'
        await until('its end is sent', () => received(ended).length > 0, ENDED_MS)
        await warnings.getByText(/of \d+ submissions/).waitFor({ state: 'detached' })
        await agree(t, page, ledger)
        t.equal(received('access.landing-rate-low').length, 1)
      },
    )

    await t.test('a source that stalls is an incident and an alert until it goes on', async t => {
      const ask = async () =>
        Object((await client.ask(`${access}/incidents`)).json).incidents as readonly {
          readonly location: string
          readonly reasons: readonly string[]
          readonly endedAtMs: number | null
        }[]
      t.strictSame(await ask(), [])
      t.equal(await injectFeedFault(geyserUrl, { fault: 'stall', ms: 30_000 }), 200)
      await until('it is sent', () => received('access.location-behind').length > 0)
      t.match(await ask(), [{ endedAtMs: null }, { endedAtMs: null }])
      await warnings.getByText(/Frankfurt is degraded: Behind, since/).waitFor()
      const [alert] = received('access.location-behind')
      const found = alert?.body.data['warnings'] as readonly { location: string; values: object }[]
      t.ok(found.some(one => one.location === 'fra'))
      for (const { values } of found) t.match(values, { states: 'behind' })
      await until('it has ended', async () =>
        (await ask()).every(({ endedAtMs }) => endedAtMs !== null),
      )
      const ended = 'access.location-behind.resolved'
      await until('its end is sent', () => received(ended).length > 0, RESOLVED_MS)
      t.strictSame(Object((await client.ask(`${access}/warnings`)).json).warnings, [])
    })
    t.strictSame(faults, [])
    await context.close()
  })
