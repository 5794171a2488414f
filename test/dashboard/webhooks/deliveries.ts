import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAccessManager } from '../../../src/access/accesses/access-manager.js'
import { createLocalJournal } from '../../../src/access/journal/local-journal.js'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { openWriter } from '../../../src/access/store/store.js'
import type { Access } from '../../../src/access/store/tables.js'
import type { WebhookRecord } from '../../../src/access/store/webhook-shape.js'
import { createSealing } from '../../../src/access/tokens/sealing.js'
import {
  createWebhookManager,
  type WebhookManager,
} from '../../../src/access/webhooks/webhook-manager.js'
import type { ReadWarnings } from '../../../src/dashboard/api/warnings.js'
import { Deliveries } from '../../../src/dashboard/webhooks/deliveries.js'
import { defaults, type Options } from '../../../src/dashboard/webhooks/options.js'
import { createResolve } from '../../../src/dashboard/webhooks/resolve.js'
import { createSend } from '../../../src/dashboard/webhooks/send.js'
import type { Warning } from '../../../src/dashboard/warnings/rules.js'
import { RpcError } from '../../../src/shared/errors.js'
import { createLog } from '../../../src/shared/log.js'
import { NEW_ACCESS } from '../../fixtures/access/access.js'
import { openReceiver, signatureOf, type Receiver } from '../../fixtures/dashboard/receiver.js'
import { until } from '../../fixtures/until.js'

const limitNear: Warning = {
  rule: 'limit-near',
  kind: 'limit-near',
  network: null,
  location: null,
  values: { percent: 85 },
}

/** Short, so that a test takes less than a second. */
const OPTIONS: Options = {
  ...defaults,
  allowLoopback: true,
  checkMs: 20,
  perKindMs: 400,
  retryMs: 20,
  // An attempt that only takes long is repeated: a message would be received twice.
  sendMs: 10_000,
}

type Harness = {
  readonly webhooks: WebhookManager
  readonly lines: readonly string[]
  /** What is to be warned of, by access. */
  readonly warnings: Map<string, readonly Warning[]>
  /** Machines of the cluster that do not answer; undefined on a machine by itself. */
  missing: readonly string[] | undefined
  /** Grants a person an access whose warnings are sent to a receiver. */
  grant(receiver: Pick<Receiver, 'url'>, subject?: string): Promise<Access>
  /** Starts a process that sends. */
  open(options?: Partial<Options>): Deliveries
  firstOf(access: Access): WebhookRecord | undefined
  /** Those of the first webhook. */
  messagesOf(access: Access): WebhookRecord['messages']
}

const openHarness = async (t: Test): Promise<Harness> => {
  const dir = t.testdir()
  const store = await openWriter(dir)
  const ownStore = openControlStore(dir)
  t.teardown(() => Promise.all([store.close(), ownStore.close()]))
  const sealing = createSealing(join(dir, 'sealing.key'), ownStore, randomBytes)
  const parts = {
    store,
    journal: createLocalJournal({ store, randomBytes }),
    randomBytes,
    now: Date.now,
  }
  const accesses = createAccessManager(parts)
  const webhooks = createWebhookManager({ ...parts, sealing })
  const warnings = new Map<string, readonly Warning[]>()
  const readWarnings: ReadWarnings = async ({ accessId }) => ({
    warnings: warnings.get(accessId) ?? [],
    ...(harness.missing === undefined ? {} : { missing: harness.missing }),
  })
  const lines: string[] = []
  const harness: Harness = {
    webhooks,
    warnings,
    missing: undefined,
    lines,

    grant: async ({ url }, subject = 'ada') => {
      const access = await accesses.grant({ ...NEW_ACCESS, subject, validFromMs: 0 })
      await webhooks.add(access.accessId, new URL(url))
      return access
    },
    open: more => {
      const options = { ...OPTIONS, ...more }
      const elapsed = (): number => performance.now()
      const deliveries = new Deliveries({
        options,
        webhooks,
        find: accessId => accesses.find(accessId),
        readWarnings,
        send: createSend(options, { resolve: createResolve(options), now: Date.now, elapsed }),
        id: () => `msg_${randomBytes(9).toString('hex')}`,
        now: Date.now,
        log: createLog('test', line => lines.push(line)),
      })
      deliveries.start()
      t.teardown(() => deliveries.stop())
      return deliveries
    },
    firstOf: ({ accessId }) => webhooks.of(accessId)[0],
    messagesOf: ({ accessId }) => webhooks.of(accessId)[0]?.messages ?? [],
  }
  return harness
}

const idsOf = ({ received }: Receiver): readonly string[] => [
  ...new Set(received.map(({ id }) => id)),
]

t.test('a warning is sent once, signed; by one of two processes', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  harness.open()
  harness.open()
  harness.warnings.set(access.accessId, [limitNear])
  await until('it is delivered', () => harness.messagesOf(access)[0]?.state === 'delivered')
  await sleep(2 * OPTIONS.perKindMs)
  t.match(receiver.received, [{ body: { type: 'access.limit-near' } }])
  t.equal(receiver.received.length, 1)
  const webhook = harness.firstOf(access)
  const [first] = receiver.received
  if (webhook === undefined || first === undefined) return
  const { secret } = await harness.webhooks.reveal(access.accessId, webhook)
  t.equal(first.signature, signatureOf(secret.reveal(), first))
  t.strictSame(harness.lines, [])
})

t.test('a warning that comes and ends all the time is sent once in perKindMs', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  harness.open()
  const endMs = performance.now() + 5 * OPTIONS.perKindMs
  for (let isOn = true; performance.now() < endMs; isOn = !isOn) {
    harness.warnings.set(access.accessId, isOn ? [limitNear] : [])
    await sleep(30)
  }
  // Of the messages, which may be received long after they are made.
  const times = receiver.received.map(({ body }) => Date.parse(body.timestamp))
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
  t.ok(times.length >= 3, `${times.length} messages`)
  t.ok(
    gaps.every(gap => gap >= OPTIONS.perKindMs),
    gaps.join(),
  )
})

t.test('a failed attempt is repeated with the same id, and 410 ends it', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const statuses = [500, 302, 429, 204]
  receiver.answer = response => response.writeHead(statuses.shift() ?? 204).end()
  const access = await harness.grant(receiver)
  harness.warnings.set(access.accessId, [limitNear])
  harness.open()
  await until('it is delivered', () => harness.messagesOf(access)[0]?.state === 'delivered')
  t.equal(receiver.received.length, 4)
  t.equal(idsOf(receiver).length, 1)
  t.match(harness.messagesOf(access), [{ attempts: 4, status: 204, problem: '' }])

  receiver.answer = response => response.writeHead(410).end()
  harness.warnings.set(access.accessId, [
    limitNear,
    { ...limitNear, rule: 'rental-ending', kind: 'rental-ending' },
  ])
  const goneAt = () => harness.firstOf(access)?.goneAtMs ?? null
  await until('it is off', () => goneAt() !== null)
  harness.warnings.set(access.accessId, [
    { ...limitNear, rule: 'errors-rising', kind: 'errors-rising' },
  ])
  await sleep(100)
  t.equal(receiver.received.length, 5)
})

t.test('what a process could not finish is sent by the next one', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  receiver.answer = () => {}
  harness.warnings.set(access.accessId, [limitNear])
  const first = harness.open({ sendMs: 60_000, retryMs: 600 })
  await until('it was tried', () => receiver.received.length === 1)
  await first.stop()
  t.match(harness.messagesOf(access), [{ state: 'pending', attempts: 1 }])
  receiver.answer = response => response.writeHead(204).end()
  harness.open()
  await until('it is delivered', () => harness.messagesOf(access)[0]?.state === 'delivered')
  t.equal(idsOf(receiver).length, 1)
})

t.test('slow receivers of one person delay no delivery of another', async t => {
  const harness = await openHarness(t)
  const slow = await openReceiver(t)
  slow.answer = () => {}
  const quick = await openReceiver(t)
  const limits = { inFlightMax: 6, inFlightPerPersonMax: 4, checkMs: 100 }
  for (let index = 0; index < 12; index++) {
    const { accessId } = await harness.grant(slow, 'ada')
    harness.warnings.set(accessId, [limitNear])
  }
  harness.open(limits)
  await until('the slow ones have all their places', () => slow.received.length === 4)
  const bystander = await harness.grant(quick, 'ben')
  const fromMs = performance.now()
  harness.warnings.set(bystander.accessId, [limitNear])
  await until('it is delivered', () => quick.received.length === 1)
  const tookMs = performance.now() - fromMs
  t.ok(tookMs < 5_000, `${Math.round(tookMs)} ms, and an attempt of a slow one takes 10 s`)
  t.equal(slow.received.length, 4)
})

t.test('a test is sent at once and kept; there is one at a time', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  const deliveries = harness.open()
  const webhook = harness.firstOf(access)
  if (webhook === undefined) return t.fail('no webhook')
  receiver.answer = response => void setTimeout(() => response.writeHead(418).end(), 50)
  const tested = deliveries.test(access, webhook)
  await t.rejects(deliveries.test(access, webhook), new RpcError('unavailable'))
  t.match(await tested, { status: 418, problem: 'answered 418' })
  t.match(receiver.received, [{ body: { type: 'access.test', data: { warnings: [] } } }])
  t.match(harness.messagesOf(access), [{ kind: 'test', state: 'failed', status: 418 }])
})

t.test('nothing of an access that has ended, or without a webhook', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  harness.open()
  const { webhookId = '' } = harness.firstOf(access) ?? {}
  await harness.webhooks.remove(access.accessId, webhookId)
  harness.warnings.set(access.accessId, [limitNear])
  await sleep(100)
  t.equal(receiver.received.length, 0)
  t.strictSame(harness.webhooks.list(), [])
})

t.test('in a cluster a warning has ended when every machine says so', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  const isReported = (): boolean => harness.firstOf(access)?.reported.length === 1
  harness.missing = []
  harness.warnings.set(access.accessId, [limitNear])
  harness.open()
  await until('it is reported', isReported)
  harness.missing = ['fra-2']
  harness.warnings.set(access.accessId, [])
  await sleep(100)
  t.ok(isReported(), 'one does not answer')
  harness.missing = []
  await until('it has ended', () => !isReported())
})

t.test('a message that cannot be unsealed fails after its attempts', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  await harness.webhooks.changeAll(access.accessId, one => ({
    ...one,
    sealedSecret: new Uint8Array(60),
  }))
  harness.warnings.set(access.accessId, [limitNear])
  harness.open({ attemptsMax: 2 })
  await until('it has failed', () => harness.messagesOf(access)[0]?.state === 'failed')
  t.match(harness.messagesOf(access), [
    { attempts: 2, problem: 'the service cannot read the URL and the secret now' },
  ])
  t.match(harness.lines[0], 'alerts were not sent to a webhook')
  t.equal(receiver.received.length, 0)
})

t.test('each of several webhooks gets what is for it; a slow one delays no other', async t => {
  const harness = await openHarness(t)
  const [slow, quick] = [await openReceiver(t), await openReceiver(t)]
  slow.answer = () => {}
  const access = await harness.grant(slow)
  await harness.webhooks.add(access.accessId, new URL(quick.url))
  harness.warnings.set(access.accessId, [limitNear])
  harness.open({ checkMs: 50 })
  await until('the quick one has it', () => quick.received.length === 1)
  await until('the slow one was tried', () => slow.received.length === 1)
  t.match(harness.webhooks.of(access.accessId), [
    { messages: [{ state: 'pending', attempts: 1 }] },
    { messages: [{ kind: 'limit-near' }] },
  ])
  t.equal(quick.received[0]?.body.type, 'access.limit-near')
})

t.test('of one access two are sent at once, whatever it has', async t => {
  const harness = await openHarness(t)
  const slow = await openReceiver(t)
  slow.answer = () => {}
  const access = await harness.grant(slow)
  for (let index = 1; index < 8; index++)
    await harness.webhooks.add(access.accessId, new URL(slow.url))
  harness.warnings.set(access.accessId, [limitNear])
  harness.open()
  await until('two wait for an answer', () => slow.received.length === 2)
  await sleep(100)
  t.equal(slow.received.length, 2)
})

t.test('the test of a rule is what it would send, and says so', async t => {
  const harness = await openHarness(t)
  const receiver = await openReceiver(t)
  const access = await harness.grant(receiver)
  const webhook = harness.firstOf(access)
  if (webhook === undefined) return t.fail('no webhook')
  await harness.open().test(access, webhook, limitNear)
  t.match(receiver.received, [
    {
      body: {
        type: 'access.limit-near',
        data: { rule: 'limit-near', test: true, warnings: [{ values: { percent: 85 } }] },
      },
    },
  ])
  t.match(harness.messagesOf(access), [{ kind: 'test', state: 'delivered' }])
})
