import fc from 'fast-check'
import t from 'tap'
import type { AlertRule, WebhookRecord } from '../../../src/access/store/webhook-shape.js'
import {
  claim,
  nextDueMs,
  settle,
  withTest,
  withWarnings,
  type Claim,
} from '../../../src/dashboard/webhooks/messages.js'
import { defaults } from '../../../src/dashboard/webhooks/options.js'
import { DEFAULT_RULES, defaultRule, WARNING_KINDS } from '../../../src/dashboard/warnings/kinds.js'
import type { Warning } from '../../../src/dashboard/warnings/rules.js'

const NOW_MS = 1_900_000_000_000
const HOUR_MS = 3_600_000
const ACCESS = { accessId: 'acc_1', holderLabel: 'Bot' }

const WEBHOOK: WebhookRecord = {
  webhookId: 'whk_1',
  origin: 'https://hooks.example.com',
  sealedUrl: new Uint8Array(),
  sealedSecret: new Uint8Array(),
  createdAtMs: NOW_MS,
  goneAtMs: null,
  reported: [],
  lastOfKind: [],
  messages: [],
}

const limitNear: Warning = {
  rule: 'limit-near',
  kind: 'limit-near',
  network: null,
  location: null,
  values: { percent: 85 },
}
const errorsAt = (location: string): Warning => ({
  rule: 'errors-rising',
  kind: 'errors-rising',
  network: 'main',
  location,
  values: { errors: 42 },
})

const ALL_ON: readonly AlertRule[] = DEFAULT_RULES.map(rule => ({ ...rule, isOn: true }))

/** Looks at an access at some time; the webhook after it, and what was added to it. */
const createLook = (options = defaults, rules: readonly AlertRule[] = ALL_ON) => {
  let ids = 0
  return (
    webhook: WebhookRecord,
    nowMs: number,
    warnings: readonly Warning[],
    isWhole = true,
  ): { readonly webhook: WebhookRecord; readonly added: readonly unknown[] } => {
    const found = { access: ACCESS, rules, warnings, isWhole }
    const next = withWarnings(webhook, found, { id: () => `msg_${++ids}`, nowMs, options })
    if (next === undefined) return { webhook, added: [] }
    const known = new Set(webhook.messages.map(({ messageId }) => messageId))
    const added = next.messages.filter(({ messageId }) => !known.has(messageId))
    return { webhook: next, added: added.map(({ body }) => JSON.parse(body)) }
  }
}

t.test('a message has all warnings of its kind', async t => {
  const look = createLook()
  t.strictSame(look(WEBHOOK, NOW_MS, [limitNear, errorsAt('fra'), errorsAt('nyc')]).added, [
    {
      type: 'access.limit-near',
      timestamp: '2030-03-17T17:46:40.000Z',
      data: {
        accessId: 'acc_1',
        label: 'Bot',
        rule: 'limit-near',
        warnings: [{ network: null, location: null, values: { percent: 85 } }],
      },
    },
    {
      type: 'access.errors-rising',
      timestamp: '2030-03-17T17:46:40.000Z',
      data: {
        accessId: 'acc_1',
        label: 'Bot',
        rule: 'errors-rising',
        warnings: [
          { network: 'main', location: 'fra', values: { errors: 42 } },
          { network: 'main', location: 'nyc', values: { errors: 42 } },
        ],
      },
    },
  ])
})

t.test('a warning that lasts is sent once', async t => {
  const look = createLook()
  let { webhook } = look(WEBHOOK, NOW_MS, [limitNear])
  for (let hour = 0; hour < 100; hour++) {
    const found = look(webhook, NOW_MS + hour * HOUR_MS, [limitNear])
    t.equal(found.webhook, webhook, 'nothing has changed')
    ;({ webhook } = found)
  }
})

t.test('one that ended and is back is sent again after an hour', async t => {
  const look = createLook()
  let { webhook } = look(WEBHOOK, NOW_MS, [limitNear])
  ;({ webhook } = look(webhook, NOW_MS + 60_000, []))
  const early = look(webhook, NOW_MS + HOUR_MS - 1, [limitNear])
  t.equal(early.added.length, 0)
  t.equal(look(early.webhook, NOW_MS + HOUR_MS, [limitNear]).added.length, 1)
})

t.test('another location waits for the hour of its kind, another kind does not', async t => {
  const look = createLook()
  let { webhook } = look(WEBHOOK, NOW_MS, [errorsAt('fra')])
  const soon = look(webhook, NOW_MS + 1, [errorsAt('fra'), errorsAt('nyc'), limitNear])
  t.match(soon.added, [{ type: 'access.limit-near' }])
  ;({ webhook } = soon)
  const later = look(webhook, NOW_MS + HOUR_MS, [errorsAt('fra'), errorsAt('nyc'), limitNear])
  t.match(later.added, [{ data: { warnings: [{ location: 'fra' }, { location: 'nyc' }] } }])
  t.equal(later.added.length, 1)
})

t.test('a machine that did not answer ends no warning', async t => {
  const look = createLook()
  let { webhook } = look(WEBHOOK, NOW_MS, [limitNear])
  ;({ webhook } = look(webhook, NOW_MS + HOUR_MS, [], false))
  t.equal(look(webhook, NOW_MS + 2 * HOUR_MS, [limitNear]).added.length, 0)
})

t.test('a clock that was set back silences a kind for an hour at most', async t => {
  const look = createLook()
  let { webhook } = look(WEBHOOK, NOW_MS, [limitNear])
  ;({ webhook } = look(webhook, NOW_MS - 48 * HOUR_MS, []))
  t.equal(look(webhook, NOW_MS - 48 * HOUR_MS, [limitNear]).added.length, 1)
})

const anyWarning = fc
  .record({
    kind: fc.constantFrom(...WARNING_KINDS),
    network: fc.constantFrom(null, 'main', 'dev'),
    location: fc.constantFrom(null, 'fra', 'nyc'),
  })
  .map((found): Warning => ({ ...found, rule: found.kind, values: {} }))
const anyLook = fc.record({
  waitMs: fc.oneof(fc.integer({ min: 0, max: 2 * HOUR_MS }), fc.constant(HOUR_MS - 1)),
  warnings: fc.uniqueArray(anyWarning, {
    maxLength: 6,
    selector: ({ kind, network, location }) => JSON.stringify([kind, network, location]),
  }),
  isWhole: fc.boolean(),
})

t.test('whatever happens: at most one of a kind an hour, and none is forgotten', async t => {
  fc.assert(
    fc.property(fc.array(anyLook, { maxLength: 40 }), looks => {
      const look = createLook()
      let webhook = WEBHOOK
      let nowMs = NOW_MS
      const lastMs = new Map<string, number>()
      const reported = new Set<string>()
      for (const { waitMs, warnings, isWhole } of looks) {
        nowMs += waitMs
        const present = new Set(warnings.map(one => JSON.stringify(one)))
        if (isWhole) for (const key of reported) if (!present.has(key)) reported.delete(key)
        // The oracle: a kind is due after an hour, and sent where it has one that was not reported.
        const expected = WARNING_KINDS.filter(
          kind =>
            nowMs - (lastMs.get(kind) ?? -Infinity) >= HOUR_MS &&
            warnings.some(one => one.kind === kind && !reported.has(JSON.stringify(one))),
        )
        for (const kind of expected) {
          lastMs.set(kind, nowMs)
          for (const one of warnings) if (one.kind === kind) reported.add(JSON.stringify(one))
        }
        const found = look(webhook, nowMs, warnings, isWhole)
        ;({ webhook } = found)
        t.equal(webhook.messages.length <= defaults.messagesMax, true)
        const types = found.added.map(one => Object(one).type)
        if (types.join() !== expected.map(kind => `access.${kind}`).join()) return false
      }
      return true
    }),
    { numRuns: 300 },
  )
})

const pending = (): WebhookRecord => createLook()(WEBHOOK, NOW_MS, [limitNear]).webhook
const at = (nowMs: number) => ({ nowMs, options: defaults })
const claimAt = (webhook: WebhookRecord, nowMs: number): Claim => {
  const claimed = claim(webhook, nowMs, defaults)
  if (claimed === undefined) throw new Error('nothing is due')
  return claimed
}
const FAILED = { status: 500, problem: 'answered 500' }
const DONE = { status: 204, problem: '' }

t.test('retries wait longer and longer, and end', async t => {
  let webhook = pending()
  let nowMs = NOW_MS
  const waits: number[] = []
  for (;;) {
    const claimed = claimAt(webhook, nowMs)
    const settled = settle(claimed.webhook, claimed, FAILED, at(nowMs))
    if (settled === undefined) throw new Error('not settled')
    webhook = settled
    const dueMs = nextDueMs(webhook)
    if (dueMs === undefined) break
    t.equal(claim(webhook, dueMs - 1, defaults), undefined, 'not before')
    waits.push((dueMs - nowMs) / 1_000)
    nowMs = dueMs
  }
  t.strictSame(waits, [5, 20, 80, 320, 1_280, 5_120, 14_400, 14_400])
  t.match(webhook.messages, [{ state: 'failed', attempts: 9, body: '', status: 500 }])
})

t.test(
  'of two that claim at once one has it; the attempt of one that died is repeated',
  async t => {
    const first = claimAt(pending(), NOW_MS)
    t.equal(claim(first.webhook, NOW_MS + defaults.sendMs, defaults), undefined)
    const laterMs = NOW_MS + defaults.sendMs + defaults.retryMs
    const second = claimAt(first.webhook, laterMs)
    t.equal(second.message.messageId, first.message.messageId)
    t.equal(second.message.body, first.message.body)
    t.equal(settle(second.webhook, first, FAILED, at(laterMs)), undefined, 'late and of no use')
    const done = settle(second.webhook, first, DONE, at(laterMs))
    t.match(done?.messages, [{ state: 'delivered', body: '', problem: '' }], 'late and good')
  },
)

t.test('410 turns a webhook off, and drops what is pending', async t => {
  const look = createLook()
  const { webhook } = look(WEBHOOK, NOW_MS, [limitNear, errorsAt('fra')])
  const claimed = claimAt(webhook, NOW_MS)
  const gone = settle(claimed.webhook, claimed, { status: 410, problem: 'gone' }, at(NOW_MS + 5))
  t.match(gone, {
    goneAtMs: NOW_MS + 5,
    messages: [
      { state: 'failed', attempts: 1, status: 410 },
      { state: 'failed', attempts: 0, body: '', problem: 'the receiver had answered 410 Gone' },
    ],
  })
  if (gone === undefined) return
  t.equal(look(gone, NOW_MS + 2 * HOUR_MS, [limitNear, errorsAt('nyc')]).webhook, gone)
  t.equal(claim({ ...webhook, goneAtMs: NOW_MS }, NOW_MS, defaults), undefined)
})

t.test('another webhook, or none of the message, is not changed by an old attempt', async t => {
  const claimed = claimAt(pending(), NOW_MS)
  const other = { ...claimed.webhook, webhookId: 'whk_2' }
  t.equal(settle(other, claimed, DONE, at(NOW_MS)), undefined)
  t.equal(settle(WEBHOOK, claimed, DONE, at(NOW_MS)), undefined)
})

t.test('tests are kept, and push out no message that is still to be sent', async t => {
  let webhook = pending()
  const [kept] = webhook.messages
  const times = { nowMs: NOW_MS, messagesMax: 3 }
  for (let index = 0; index < 5; index++) {
    const sent = { messageId: `msg_t${index}`, createdAtMs: NOW_MS }
    webhook = withTest(webhook, sent, index === 4 ? FAILED : DONE, times)
  }
  t.match(webhook.messages, [
    { messageId: kept?.messageId, state: 'pending' },
    { messageId: 'msg_t3', kind: 'test', state: 'delivered', attempts: 1 },
    { messageId: 'msg_t4', kind: 'test', state: 'failed', status: 500 },
  ])
  t.equal(webhook.messages.length, 3)
  const sent = { messageId: 'msg_t5', createdAtMs: NOW_MS }
  t.equal(withTest(webhook, sent, { status: 410, problem: 'gone' }, times).goneAtMs, NOW_MS)
})

const CUSTOM: AlertRule = {
  ...defaultRule('p99-high'),
  ruleId: 'rule_1',
  isOn: true,
  webhooks: ['whk_1'],
  sendsResolved: true,
}
const slowAt = (location: string): Warning => ({
  rule: 'rule_1',
  kind: 'p99-high',
  network: 'main',
  location,
  values: { p99Ms: 300 },
})

t.test('a rule is sent to its webhooks only, and each rule has its own hour', async t => {
  const look = createLook(defaults, [CUSTOM, { ...CUSTOM, ruleId: 'rule_2', webhooks: [] }])
  const both = [slowAt('fra'), { ...slowAt('fra'), rule: 'rule_2' }]
  t.match(look(WEBHOOK, NOW_MS, both).added, [{ data: { rule: 'rule_1' } }])
  t.equal(look(WEBHOOK, NOW_MS, both).added.length, 1)
  t.equal(look({ ...WEBHOOK, webhookId: 'whk_2' }, NOW_MS, both).added.length, 0)
  const all = createLook(defaults, [CUSTOM, { ...CUSTOM, ruleId: 'rule_2' }])
  t.equal(all(WEBHOOK, NOW_MS, both).added.length, 2)
  const off = createLook(defaults, [{ ...CUSTOM, isOn: false }])
  t.equal(off(WEBHOOK, NOW_MS, both).added.length, 0)
})

t.test('the end of what was sent is sent once, if the rule says so', async t => {
  const look = createLook(defaults, [CUSTOM])
  let { webhook } = look(WEBHOOK, NOW_MS, [slowAt('fra'), slowAt('nyc')])
  const unknown = look(webhook, NOW_MS + 1_000, [slowAt('nyc')], false)
  t.equal(unknown.added.length, 0, 'a machine did not answer')
  const ended = look(webhook, NOW_MS + 2_000, [slowAt('nyc')])
  t.match(ended.added, [
    {
      type: 'access.p99-high.resolved',
      data: {
        rule: 'rule_1',
        warnings: [{ network: 'main', location: 'fra', values: { reportedAtMs: NOW_MS } }],
      },
    },
  ])
  t.equal(ended.added.length, 1)
  ;({ webhook } = ended)
  t.equal(look(webhook, NOW_MS + 3_000, [slowAt('nyc')]).webhook, webhook)
  const quiet = createLook(defaults, [{ ...CUSTOM, sendsResolved: false }])
  t.equal(quiet(webhook, NOW_MS + 4_000, []).added.length, 0)
})

t.test('what belongs to a rule that was removed is forgotten, and not sent', async t => {
  const { webhook } = createLook(defaults, [CUSTOM])(WEBHOOK, NOW_MS, [slowAt('fra')])
  const after = createLook(defaults, [])(webhook, NOW_MS + 1_000, [])
  t.match(after.webhook, { reported: [], messages: [{ kind: 'p99-high' }] })
  t.equal(after.added.length, 0)
})

t.test('eight webhooks with messages of all their warnings fit into an access', async t => {
  const values = Object.fromEntries(
    ['limit', 'used', 'max', 'percent', 'windowMs'].map(name => [name, 'requestsPerSecondMax']),
  )
  const warnings = Array.from({ length: 64 }, (_, index) => ({ ...slowAt(`loc-${index}`), values }))
  const rules = Array.from({ length: 32 }, (_, index) => ({ ...CUSTOM, ruleId: `rule_${index}` }))
  const look = createLook(defaults, rules)
  const all = rules.flatMap(({ ruleId }) => warnings.map(one => ({ ...one, rule: ruleId })))
  const { webhook } = look(WEBHOOK, NOW_MS, all.slice(0, 64 * 32))
  const bytes = JSON.stringify({ messages: webhook.messages }).length
  t.ok(8 * bytes < 512 * 1024, `${bytes} bytes of messages of a webhook`)
})
