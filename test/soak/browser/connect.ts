import t from 'tap'
import {
  axeFaults,
  choose,
  clipboardOf,
  copy,
  look,
  openBrowser,
  openVisit,
  signIn,
} from '../../fixtures/dashboard/browser.js'
import { samplesOf } from '../../fixtures/docs/samples.js'
import { sharedSandbox } from '../../fixtures/processes/shared-sandbox.js'
import { SAMPLE_CALLS, SAMPLE_LANGUAGES } from '../../../src/dashboard/pages/lib/sample-text.js'

const ROUTES = [
  '/lander',
  '/lander-submit-bundle',
  '/lander-submit-batch',
  '/send',
  '/relay',
  '/relay-bundle',
]

/** How often a sample is shown. It names one of five accounts each time with a chance of 2⁻²¹. */
const SHOWN = 10

const VIEWS = [
  { width: 1280, scheme: 'light' },
  { width: 1920, scheme: 'dark' },
  { width: 360, scheme: 'dark' },
  { width: 360, scheme: 'dark', hasForcedColors: true },
] as const

const browser = await openBrowser(t)
if (browser !== undefined) {
  const deployment = await sharedSandbox('--edges', '2')
  const { dashboardUrl, locations, tips } = deployment.description

  const { page, faults } = await openVisit(browser)
  await page.goto(dashboardUrl)
  await signIn(page, deployment, 'ada')
  await choose(page, 'Frankfurt')

  await t.test('Connect shows where and with which tips to submit', async t => {
    for (const route of ROUTES)
      t.equal(await copy(page, `${route} URL`), `${locations[0].submitUrl}${route}`)
    const reveal = page.getByRole('button', { name: 'Reveal /relay URL', exact: true })
    await reveal.click()
    const shown = page.getByLabel('/relay URL', { exact: true })
    t.equal(await shown.inputValue(), `${locations[0].submitUrl}/relay`)
    t.match(await page.getByLabel('RPC URL, masked').inputValue(), /•/, 'only what was asked for')
    await page.getByRole('button', { name: 'Hide /relay URL', exact: true }).click()

    const sections = page.locator('.tips')
    t.equal(await sections.count(), 3, 'the routes of a kind have one list')
    t.match(await sections.first().textContent(), /at least 1,000,000 lamports/)
    t.match(await sections.nth(1).textContent(), /^Tips for \/race.*Lane tip: at least /)
    t.match(await sections.last().textContent(), /Engine tip: at least 1,000 lamports/)
    await sections
      .last()
      .getByText(/^Engine tip/)
      .click()
    const account = sections.last().getByRole('button', { name: /Copy engine tip account/ })
    t.equal(await account.count(), tips.engine.length)
    await account.first().click()
    await page.getByText('engine tip account copied').waitFor()
    t.equal(await clipboardOf(page), tips.engine[0])
    await page.getByText('Authentication: x-token: the location token').waitFor()
    t.strictSame(await axeFaults(page), [])

    await page.getByRole('radio', { name: 'Relay', exact: true }).check()
    await page.getByRole('radio', { name: 'web3.js', exact: true }).check()
    await page.getByLabel(/^relay sample for web3.js/).waitFor()
    await page.getByText(/^Lander tip/).click()
    await look(t, page, 'connect', VIEWS)
    t.strictSame(faults, [])
  })

  await t.test('each sample is copied as the tests run it', async t => {
    const sample = await samplesOf(deployment)
    const accounts = Object.values(tips).flat()
    const withoutTips = (text: string): string =>
      accounts.reduce((all, account) => all.replaceAll(account, 'TIP'), text)
    for (const call of SAMPLE_CALLS) {
      await page.getByRole('radio', { name: call.name, exact: true }).check()
      for (const language of SAMPLE_LANGUAGES) {
        await page.getByRole('radio', { name: language.name, exact: true }).check()
        const name = `${call.name.toLowerCase()} sample for ${language.name}`
        t.notMatch(await page.getByLabel(`${name}, masked`).inputValue(), /SLOTLINE_|slt_\w{9}/)
        const copied = withoutTips(await copy(page, name))
        t.equal(copied, withoutTips(sample(call.id, language.file)), name)
      }
    }
    t.strictSame(faults, [])
  })

  await t.test('each sample names other tip accounts whenever it is shown', async t => {
    const check = (name: string): Promise<void> =>
      page.getByRole('radio', { name, exact: true }).check()
    for (const [call, payees] of [
      ['Lander', ['lander']],
      ['Relay', ['service', 'engine']],
    ] as const) {
      await check(call)
      for (const language of SAMPLE_LANGUAGES.filter(({ id }) => id !== 'curl')) {
        const named = payees.map(() => new Set<string>())
        for (let shown = 0; shown < SHOWN; shown++) {
          await check('curl')
          await check(language.name)
          const name = `${call.toLowerCase()} sample for ${language.name}, masked`
          const text = await page.getByLabel(name).inputValue()
          for (const [nth, payee] of payees.entries()) {
            const found = tips[payee].filter(account => text.includes(account))
            t.equal(found.length, 1, `${name} names one account of ${payee}`)
            named[nth]?.add(found[0] ?? '')
          }
        }
        for (const [nth, payee] of payees.entries())
          t.ok((named[nth]?.size ?? 0) > 1, `${call} for ${language.name}: accounts of ${payee}`)
      }
    }
    t.strictSame(faults, [])
  })
}
