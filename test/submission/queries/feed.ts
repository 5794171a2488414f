import t, { type Test } from 'tap'
import { LoopTurn } from '../../../src/shared/event-loop/loop-turn.js'
import type { Socket } from '../../../src/shared/socket.js'
import { SubmissionFeed } from '../../../src/submission/queries/feed.js'
import { StoreReader } from '../../../src/submission/store/store-reader.js'
import { openSubmissionStore, walBytes } from '../../../src/submission/store/submission-store.js'
import { senderPath } from '../../../src/submission/store/store-reader.js'
import { defaults, type Options } from '../../../src/submission/store/options.js'
import { createIds, formatId } from '../../../src/submission/store/submission-id.js'
import type { Landing, Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'
import { createFakeSockets } from '../../fixtures/pubsub/fake-socket.js'

type Result = {
  readonly cursor: string
  readonly state?: string
  readonly gap?: boolean
  readonly submissionId?: string
  readonly signature?: string
}

/** A store whose events are announced to a feed. */
const open = async (t: Test, given: Partial<Options> = {}) => {
  const options = { ...defaults, gatherMs: 0, landedGatherMs: 0, ...given }
  const dir = t.testdir()
  const faults: unknown[] = []
  const onFault = (fault: unknown): void => void faults.push(fault)
  const reader = new StoreReader(dir, options)
  const turn = new LoopTurn(1, () => performance.now())
  const feed = new SubmissionFeed({ reader, turn, onFault })
  const modules = {
    wal: new Uint8Array(walBytes(options)),
    now: Date.now,
    onFault,
    onSent: () => true,
    onTold: ({ accessId }: Submission) => feed.onTold([accessId]),
  }
  const store = await openSubmissionStore(senderPath(dir), modules, options)
  await store.resume()
  t.teardown(async () => {
    await store.close()
    await reader.close()
    if (faults.length > 0) throw new Error('faults', { cause: faults })
  })
  const newId = createIds(Date.now)
  const submit = (more: Partial<Submission> = {}): Uint8Array => {
    const id = newId()
    store.record(id, { ...ACCEPTED, route: '/lander', signatures: ['one'], ...more })
    return id
  }
  return { feed, reader, store, submit }
}

/** A socket that keeps what it gets, as results. */
const follow = (
  feed: SubmissionFeed,
  { accessId = ACCEPTED.accessId, from }: { accessId?: string; from?: string } = {},
) => {
  const { socket, received } = createFakeSockets().open()
  const client = { queuedBytes: 0, drains: 0 }
  const own: Socket = {
    ...socket,
    get queuedBytes() {
      return client.queuedBytes
    },
    get isClosed() {
      return false
    },
    notifyDrain: () => void client.drains++,
  }
  const follower = feed.follow('main')(accessId, from)(own, result => result)
  const results = (): Result[] => received.map(text => JSON.parse(text) as Result)
  return { client, follower, received, results, states: () => results().map(one => one.state) }
}

const inBlock = { slot: 9, index: 4, seenAtMs: ACCEPTED.receivedAtMs + 400 }
const FRESH: Landing = { transactions: [{ ...inBlock, error: null, isFinal: false }] }
const FINAL: Landing = { transactions: [{ ...inBlock, error: null, isFinal: true }] }
const ALL = ['received', 'written', 'accepted', 'in-block', 'final']

t.test('each state is sent once, in order, and resumed after any of them', async t => {
  const { feed, store, submit } = await open(t)
  const live = follow(feed)
  const id = submit({ receivedSlot: 7 })
  await store.amend(id, { landing: FRESH })
  await store.amend(id, { landing: FINAL })
  await store.amend(id, { landing: FINAL })
  await until('all are sent', () => live.received.length === ALL.length)
  t.strictSame(live.states(), ALL)
  t.match(live.results()[0], { submissionId: formatId(id), route: '/lander', signatures: ['one'] })
  t.match(live.results()[3], {
    ...{ signature: 'one', slot: 9, index: 4, error: null, delaySlots: 2, delayMs: 400 },
  })
  for (const [at, { cursor }] of live.results().entries()) {
    const resumed = follow(feed, { from: cursor })
    await until('the rest is sent', () => resumed.received.length === ALL.length - at - 1)
    t.strictSame(resumed.states(), ALL.slice(at + 1), `after ${ALL[at]}`)
    resumed.follower.close()
  }
  const late = follow(feed)
  submit()
  await until('what is new is sent', () => late.received.length === 3)
  t.strictSame(late.states(), ALL.slice(0, 3), 'from the subscription on')
  live.follower.close()
  late.follower.close()
  t.equal(feed.size, 0)
})

t.test('a failure and a withdrawal are told, and nothing of other accesses', async t => {
  const { feed, store, submit } = await open(t)
  const live = follow(feed)
  const other = follow(feed, { accessId: 'acc_other' })
  const id = submit()
  const elsewhere = submit({ network: 'test' })
  await store.amend(id, { landing: FRESH })
  await store.amend(id, { landing: { transactions: [null] } })
  const error = JSON.stringify({ InstructionError: [0, { Custom: 1 }] })
  const failed = { ...inBlock, slot: 11, error, isFinal: true }
  await store.amend(id, { landing: { transactions: [failed] } })
  await until('all are sent', () => live.received.length === 7)
  t.strictSame(live.states().slice(3), ['in-block', 'withdrawn', 'in-block', 'failed'])
  t.match(live.results()[6], {
    slot: 11,
    error: { InstructionError: [0, { Custom: 1 }] },
    reason: 'instruction 1: custom program error 1 (0x1)',
  })
  t.notOk(
    live.received.some(text => text.includes(formatId(elsewhere))),
    'of another network',
  )
  t.strictSame(other.received, [])
})

t.test('events that were removed are a gap', async t => {
  const { feed, submit } = await open(t, { eventsAccessMax: 20 })
  const live = follow(feed)
  submit()
  await until('it is sent', () => live.received.length === 3)
  const [first] = live.results()
  for (let count = 2; count <= 31; count++) {
    submit()
    await until('it is sent', () => live.received.length === 3 * count)
  }
  t.notOk(
    live.results().some(({ gap }) => gap === true),
    'a reader that keeps up misses nothing',
  )
  const id = submit()
  await until('it is sent', () => live.received.length === 96)
  const resumed = follow(feed, { from: first?.cursor ?? '' })
  await until('it is told', () => resumed.results().at(-1)?.submissionId === formatId(id))
  t.match(resumed.results()[0], { gap: true, cursor: first?.cursor })
  t.equal(resumed.results().filter(({ gap }) => gap === true).length, 1)
  t.ok(resumed.received.length <= 3 * 21 + 1)
  const future = follow(feed, { from: '9007199254740000.1' })
  await until('it is told', () => future.results()[0]?.gap === true)
  for (const from of [
    '',
    '1',
    '0.1',
    '1.0',
    '-1.1',
    '1.1000',
    '12345678901234567.1',
    'x'.repeat(99),
  ])
    t.throws(() => feed.follow('main')('acc', from), { name: 'submissionFilter' }, from)
})

t.test('a thousand readers that take nothing cost a place each', async t => {
  const { feed, reader, submit } = await open(t)
  let reads = 0
  const { changes } = reader
  reader.changes = (...args) => {
    reads++
    return changes.apply(reader, args)
  }
  const slow = Array.from({ length: 1_000 }, () => follow(feed))
  for (const { client } of slow) client.queuedBytes = 20_000
  const fast = follow(feed)
  for (let count = 0; count < 50; count++) submit()
  await until('the fast one has all', () => fast.received.length === 150)
  t.ok(
    slow.every(({ received }) => received.length === 0),
    'nothing is queued for them',
  )
  t.ok(slow.every(({ client }) => client.drains === 1))
  t.ok(reads < 1_000, `${reads} reads of the store`)
  const [one] = slow
  if (one === undefined) throw new Error('none')
  one.client.queuedBytes = 0
  one.follower.onDrain()
  await until('it is sent what it missed', () => one.received.length === 150)
  t.strictSame(one.received, fast.received)
  for (const { follower } of slow) follower.close()
  fast.follower.close()
  t.equal(feed.size, 0)
})
