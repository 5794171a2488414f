import t from 'tap'
import { DEFAULT_RULES, RULES_MAX } from '../../../../src/dashboard/warnings/kinds.js'
import { defaults } from '../../../../src/dashboard/webhooks/options.js'
import { ADA, BEN, startDashboard } from '../../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'
import { openReceiver } from '../../../fixtures/dashboard/receiver.js'

const RULE = { kind: 'limit-near', isOn: true, threshold: 50 }

t.test('rules are those of every access until the holder sets some', async t => {
  const dashboard = await startDashboard(t)
  const [ada, ben] = [new DashboardClient(dashboard.url), new DashboardClient(dashboard.url)]
  await ada.signIn(ADA)
  await ben.signIn(BEN)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/alerts`
  t.strictSame((await ada.ask(path)).json, { rules: DEFAULT_RULES })
  for (const found of [await ben.ask(path), await ben.call('PUT', path, { rules: [] })])
    t.match(found, { status: 404, json: { error: { code: 'noSuchAccess' } } })

  const rules = [
    RULE,
    { ...RULE, kind: 'p99-high', threshold: 30_000, method: 'getSlot', sendsResolved: true },
    { ...RULE, ruleId: 'errors-rising', kind: 'errors-rising', windowMinutes: 15, countMin: 1 },
  ]
  const set = await ada.call('PUT', path, { rules })
  t.match(set, {
    status: 200,
    json: {
      rules: [
        { ruleId: /^rule_\w{12}$/, threshold: 50, windowMinutes: 0, countMin: 0, webhooks: null },
        { kind: 'p99-high', windowMinutes: 5, countMin: 100, method: 'getSlot' },
        { ruleId: 'errors-rising', windowMinutes: 15, countMin: 1, onlyRising: false },
      ],
    },
  })
  t.strictSame((await ada.ask(path)).json, set.json)
  t.strictSame((await ada.call('PUT', path, { rules: [] })).json, { rules: [] })
})

t.test('what a rule may not be', async t => {
  const dashboard = await startDashboard(t)
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/alerts`
  const rentals = { ...RULE, kind: 'rental-ending', threshold: 30 }
  const slow = { ...RULE, kind: 'p99-high' }
  const cases: readonly (readonly [rule: object, problem: string | null])[] = [
    [{ ...RULE, threshold: 1 }, null],
    [{ ...RULE, threshold: 100 }, null],
    [{ ...RULE, threshold: 0 }, 'threshold must be an integer from 1 to 100'],
    [{ ...RULE, threshold: 101 }, 'threshold must be an integer from 1 to 100'],
    [{ ...RULE, threshold: 1.5 }, 'threshold must be an integer of 0 or more'],
    [{ ...RULE, threshold: '80' }, 'threshold must be an integer of 0 or more'],
    [rentals, null],
    [{ ...rentals, threshold: 31 }, 'threshold must be an integer from 1 to 30'],
    [{ ...RULE, kind: 'x' }, 'kind must be a kind of rule'],
    [{ ...RULE, windowMinutes: 5 }, 'windowMinutes must be 0: rules of this kind have none'],
    [{ ...slow, windowMinutes: 7 }, 'windowMinutes must be one of 5, 15, 30, 60'],
    [{ ...RULE, countMin: 1 }, 'countMin must be 0: rules of this kind have none'],
    [{ ...slow, countMin: 0 }, 'countMin must be an integer from 1 to 1000000'],
    [{ ...RULE, method: 'getSlot' }, 'method must be empty: rules of this kind have none'],
    [{ ...slow, method: 'get slot' }, 'method must be the name of a method'],
    [{ ...slow, method: 'm'.repeat(65) }, 'method must be the name of a method'],
    [
      { ...slow, onlyRising: true },
      'onlyRising must be false: rules of this kind look at no time before',
    ],
    [{ ...RULE, webhooks: [] }, null],
    [{ ...RULE, webhooks: ['whk_1'] }, 'webhooks has an id of no webhook of this access'],
    [{ ...RULE, isOn: 1 }, 'isOn must be true or false'],
    [{ ...RULE, more: 1 }, 'more is unknown'],
    [{ ...RULE, ruleId: '../' }, 'ruleId must be an id'],
  ]
  for (const [rule, problem] of cases) {
    const found = await ada.call('PUT', path, { rules: [rule] })
    t.match(
      found,
      problem === null
        ? { status: 200 }
        : {
            status: 400,
            json: { error: { code: 'wrongInput', message: `body.rules.0.${problem}` } },
          },
      JSON.stringify(rule),
    )
  }
  const many = (count: number) => ({ rules: Array.from({ length: count }, () => RULE) })
  t.equal((await ada.call('PUT', path, many(RULES_MAX))).status, 200)
  t.match(await ada.call('PUT', path, many(RULES_MAX + 1)), {
    status: 400,
    json: { error: { message: 'body.rules must be at most 32 rules' } },
  })
  const twice = { ...RULE, ruleId: 'rule_1' }
  t.match(await ada.call('PUT', path, { rules: [twice, RULE, twice] }), {
    status: 400,
    json: { error: { message: 'body.rules.2.ruleId is that of another rule' } },
  })
  const long = { ...slow, ruleId: 'r'.repeat(64), method: 'm'.repeat(64), webhooks: null }
  const rules = Array.from({ length: RULES_MAX }, (_, index) => ({
    ...long,
    ruleId: `${index}`.padStart(64, '0'),
  }))
  t.equal((await ada.call('PUT', path, { rules })).status, 200, 'the largest rules fit in a body')
})

t.test('each rule can be tested with each webhook', async t => {
  const webhooks = { ...defaults, allowLoopback: true }
  const dashboard = await startDashboard(t, { dashboard: { webhooks } })
  const ada = new DashboardClient(dashboard.url)
  await ada.signIn(ADA)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/webhooks`
  const receiver = await openReceiver(t)
  const made = await ada.call('POST', path, { url: receiver.url })
  const one = `${path}/${String(Object(Object(made.json).webhook).webhookId)}/test`
  for (const { ruleId, kind } of DEFAULT_RULES) {
    t.match((await ada.call('POST', one, { ruleId })).json, { status: 204, problem: '' })
    t.match(receiver.received.at(-1)?.body, {
      type: `access.${kind}`,
      data: { accessId, rule: ruleId, test: true, warnings: [{ values: Object }] },
    })
  }
  t.match(await ada.call('POST', one, { ruleId: 'none' }), {
    status: 404,
    json: { error: { code: 'noAlertRule' } },
  })
})
