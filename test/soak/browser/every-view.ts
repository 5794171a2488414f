// Every view of the dashboard, of a sandbox with traffic, in each width and scheme of colours.
import type { Browser } from 'playwright-core'
import t, { type Test } from 'tap'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import {
  look,
  openBrowser,
  openVisit,
  signIn,
  type View,
} from '../../fixtures/dashboard/browser.js'
import {
  EVERY_VIEW,
  type DashboardView,
  type Holders,
} from '../../fixtures/dashboard/every-view.js'
import { openReceiver } from '../../fixtures/dashboard/receiver.js'
import { startDeployment, type Deployment } from '../../fixtures/processes/deployment.js'
import { sendFrom } from '../../fixtures/server/send-from.js'
import { isSoak } from '../../fixtures/soak.js'
import { createSubmitter } from '../../fixtures/submission/sandbox-submitter.js'

const VIEWS = [360, 768, 1280, 1920].flatMap((width): readonly View[] => [
  { width, scheme: 'light' },
  { width, scheme: 'dark' },
  { width, scheme: 'dark', hasForcedColors: true },
])

const BATCH = JSON.stringify(
  Array.from({ length: 99 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'getSlot' })),
)
const callOf = (method: string, params: readonly unknown[] = []): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

const holdersOf = async ({ description }: Deployment): Promise<Holders> => {
  const { dashboardUrl, identity } = description
  const idOf = async (nth: 0 | 1): Promise<string> => {
    const client = new DashboardClient(dashboardUrl)
    await client.signIn(identity.users[nth])
    return Object((await client.ask('/api/accesses')).json).accesses[0].accessId
  }
  return { ada: await idOf(0), ben: await idOf(1) }
}

/** Requests that succeed, fail and exceed a limit; submissions that land, fail and are lost. */
const load = async (t: Test, { description }: Deployment, { ada }: Holders): Promise<void> => {
  const { adminToken, dashboardUrl, locations, samples } = description
  const [{ rpcUrl }] = locations
  const submitter = createSubmitter(description)
  for (let count = 0; count < 3; count++) {
    const one = await submitter.forLander()
    await submitter.lander(one)
    await submitter.relayBundle([await submitter.forRelay()])
    await submitter.post(
      '/race?response=json',
      (await submitter.forLander()).bytes,
      'application/octet-stream',
    )
    await submitter.lander(await submitter.forNoBlock())
  }
  await submitter.landerBatch([await submitter.forLander(), await submitter.forLander()])
  for (let count = 0; count < 40; count++) {
    await sendFrom(rpcUrl, '8.8.4.4', callOf('getBalance', [samples['wallet']]))
    await sendFrom(rpcUrl, '8.8.8.8', callOf('getSlot'))
  }
  for (let count = 0; count < 12; count++)
    await sendFrom(rpcUrl, '8.8.8.8', callOf('getBalance', ['é']))
  await sendFrom(rpcUrl, '9.9.9.9', callOf('getNothing'))
  await sendFrom(rpcUrl.replace(/.$/, 'x'), '9.9.9.9', callOf('getSlot'))
  const admin = (path: string, body?: object): Promise<Response> =>
    fetch(new URL(`/admin/accesses/${ada}${path}`, dashboardUrl), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const { limits } = Object(await (await admin('')).json())
  const low = { ...limits, requestsPerSecondMax: 50, requestsBurstMax: 50 }
  t.equal((await admin('/amend', { limits: low })).status, 200)
  for (let count = 0; count < 2; count++) t.equal(await sendFrom(rpcUrl, '9.9.9.9', BATCH), 429)
  await admin('/amend', { limits })
}

/** A webhook that works and one that fails, a key, and a member. */
const set = async (t: Test, { description }: Deployment, { ada }: Holders): Promise<void> => {
  const client = new DashboardClient(description.dashboardUrl)
  await client.signIn(description.identity.users[0])
  const path = `/api/accesses/${ada}`
  const [one, other] = [await openReceiver(t), await openReceiver(t)]
  other.answer = response => response.writeHead(500).end()
  for (const { url } of [one, other]) {
    const { webhook } = Object((await client.call('POST', `${path}/webhooks`, { url })).json)
    const test = `${path}/webhooks/${webhook.webhookId}/test`
    t.ok((await client.call('POST', test, {})).status < 300)
  }
  const validUntilMs = Date.now() + 86_400_000
  const key = { label: 'bot', scopes: ['usage:read', 'token:restrict'], validUntilMs }
  t.match(await client.call('POST', `${path}/keys`, key), { status: 201 })
  const email = description.identity.users[1].email
  t.ok((await client.call('POST', `${path}/members`, { email, role: 'view' })).status < 300)
}

/** Opens the views of one person, and looks at each. */
const visit = async (
  t: Test,
  browser: Browser,
  deployment: Deployment,
  ids: Holders,
  views: readonly DashboardView[],
): Promise<void> => {
  const { dashboardUrl } = deployment.description
  const { page, context, faults } = await openVisit(browser)
  const user = views[0]?.user
  if (user !== undefined) {
    await page.goto(dashboardUrl)
    await signIn(page, deployment, user)
  }
  for (const { name, url, ready, open } of views)
    await t.test(name, async t => {
      // A fragment by itself would leave open what another view has opened.
      await page.goto('about:blank')
      await page.goto(new URL(url(ids), dashboardUrl).href)
      await page.locator(ready).first().waitFor()
      await open?.(page)
      await page.evaluate('scrollTo(0, 0)')
      t.not(await page.title(), '', 'it has a title')
      t.equal(await page.locator('h1').count(), 1, 'it has one heading')
      await look(t, page, `every-${name}`, VIEWS)
    })
  t.strictSame(faults, [], user ?? 'nobody')
  await context.close()
}

const browser = isSoak ? await openBrowser(t) : undefined
if (browser !== undefined) {
  const lookAt = async (t: Test, isOfCluster: boolean, args: readonly string[]): Promise<void> => {
    const views = EVERY_VIEW.filter(view => (view.isOfCluster === true) === isOfCluster)
    const deployment = await startDeployment(t, { args })
    const ids = await holdersOf(deployment)
    if (!isOfCluster) {
      await load(t, deployment, ids)
      await set(t, deployment, ids)
    }
    for (const user of new Set(views.map(one => one.user))) {
      const own = views.filter(one => one.user === user)
      await visit(t, browser, deployment, ids, own)
    }
  }
  await t.test('every view of a machine by itself', { timeout: 1_800_000 }, t =>
    lookAt(t, false, ['--edges', '2', '--traffic', '5']),
  )
  await t.test('every view of a cluster', { timeout: 600_000 }, t =>
    lookAt(t, true, ['--machines', '3']),
  )
}
