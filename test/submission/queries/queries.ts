import t, { type Test } from 'tap'
import { SubmissionQueries } from '../../../src/submission/queries/queries.js'
import { StoreReader } from '../../../src/submission/store/store-reader.js'
import { formatId } from '../../../src/submission/store/submission-id.js'
import type { FoundSubmission, Submission } from '../../../src/submission/store/submission.js'
import { openStores } from '../../fixtures/submission/store.js'
import { ACCEPTED } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

type Page = { readonly submissions: readonly { submissionId: string }[]; readonly next: string }

const open = async (t: Test) => {
  const { dir, openStore, newId, clock, options } = await openStores(t, { findMs: 30 })
  const store = await openStore()
  const reader = new StoreReader(dir, options)
  t.teardown(async () => {
    await store.close()
    await reader.close()
  })
  const asked: string[] = []
  const elsewhere = new Map<string, FoundSubmission>()
  const queries = new SubmissionQueries({
    ...{ network: 'main', reader, options, now: () => clock.ms },
    findElsewhere: async ({ key }) => {
      asked.push(key)
      return elsewhere.get(key)
    },
    lanes: async (accessId, query) => JSON.stringify({ accessId, ...query }),
  })
  const keep = async (more: Partial<Submission> = {}): Promise<Uint8Array> => {
    clock.ms += 1_000
    const id = newId()
    store.record(id, { ...ACCEPTED, receivedAtMs: clock.ms, ...more })
    await until('it is stored', () => reader.get(id) !== undefined)
    return id
  }
  const find = async (key: string, accessId = ACCEPTED.accessId): Promise<unknown> =>
    JSON.parse(Buffer.from(await queries.find(accessId, key)).toString())
  const list = async (query: object = {}, accessId = ACCEPTED.accessId): Promise<Page> =>
    JSON.parse(Buffer.from(await queries.list(accessId, { ...query })).toString()) as Page
  const ids = async (query: object = {}): Promise<string[]> =>
    (await list(query)).submissions.map(({ submissionId }) => submissionId)
  return { asked, clock, elsewhere, find, ids, keep, list, queries, store }
}

const [SIGNATURE = '', OTHER = ''] = ACCEPTED.signatures

t.test('a submission that another machine has, by its id and by its signature', async t => {
  const { elsewhere, find } = await open(t)
  const submissionId = '0190b0a0-0000-7000-8000-000000000000'
  const found = { submissionId, submission: ACCEPTED }
  elsewhere.set(submissionId, found).set(SIGNATURE, found)
  t.match(await find(SIGNATURE), { submissionId, transactions: [{ signature: SIGNATURE }, {}] })
  t.match(await find(submissionId), { submissionId })
  t.equal(await find(SIGNATURE, 'acc_other'), null, 'whatever it answers')
  elsewhere.set(OTHER, { ...found, submissionId: 'none' })
  t.equal(await find(OTHER), null)
})

t.test('a submission by its id and by its signature, for its access alone', async t => {
  const { asked, find, keep, queries, store } = await open(t)
  const tips = [[{ account: 'tip', lamports: 5 }], []]
  await keep()
  const id = await keep({ tips, receivedSlot: 7, network: 'main' })
  const fate = { slot: 9, index: 1, error: null, isFinal: true, seenAtMs: 1_900_000_002_500 }
  await store.amend(id, { landing: { transactions: [fate, null] } })
  const expected = {
    submissionId: formatId(id),
    state: 'partly-landed',
    tipLamports: 5,
    receivedSlot: 7,
    transactions: [
      { signature: SIGNATURE, state: 'final', slot: 9, index: 1, delaySlots: 2, delayMs: 500 },
      { signature: OTHER, state: 'waiting', slot: null, delayMs: null, tips: [] },
    ],
  }
  t.match(await find(formatId(id)), expected)
  t.match(await find(SIGNATURE), expected, 'the newest one')
  const foreign = await keep({ accessId: 'acc_other', signatures: [SIGNATURE] })
  const elsewhere = await keep({ network: 'test', signatures: ['2'.repeat(64)] })
  t.match(await find(SIGNATURE), expected, 'another access has sent it, too')
  t.equal(await find(formatId(foreign)), null, 'of another access')
  t.equal(await find(formatId(elsewhere)), null, 'of another network')
  t.equal(await find('2'.repeat(64)), null)
  t.equal(await find('3'.repeat(64)), null)
  t.equal(await find(SIGNATURE, 'acc_nobody'), null)
  const unknown = [
    formatId(foreign),
    formatId(elsewhere),
    '2'.repeat(64),
    '3'.repeat(64),
    SIGNATURE,
  ]
  t.strictSame(asked, unknown, 'as one that is not there')
  for (const key of [
    '',
    'x',
    `${formatId(id)}0`,
    '1'.repeat(63),
    '0'.repeat(64),
    'a'.repeat(99_999),
  ])
    await t.rejects(queries.find('acc', key), { name: 'submissionKey' })
})

t.test('pages of the newest first, by route, state, signature and time', async t => {
  const { clock, ids, keep, list, queries } = await open(t)
  const startMs = clock.ms
  const first = formatId(await keep({ route: '/lander' }))
  const second = formatId(await keep({ outcome: 'refused', error: '{"message":"no"}' }))
  const third = formatId(await keep({ signatures: ['4'.repeat(64)] }))
  await keep({ accessId: 'acc_other' })
  await keep({ network: 'test' })
  const all = [third, second, first]
  t.strictSame(await ids(), all)
  t.strictSame(await ids({ route: '/lander' }), [first])
  t.strictSame(await ids({ state: 'refused' }), [second])
  t.strictSame(await ids({ state: 'final' }), [])
  t.strictSame(await ids({ signature: '4'.repeat(64) }), [third])
  t.strictSame(await ids({ fromMs: startMs + 2_000 }), [third, second])
  t.strictSame(await ids({ untilMs: startMs + 3_000 }), [second, first])
  t.strictSame(await ids({ fromMs: startMs + 2_000, untilMs: startMs + 3_000 }), [second])
  t.strictSame(await ids({ limit: null, route: null, unknown: 1 }), all)
  const pages: string[] = []
  let before: string | null = null
  do {
    const page: Page = await list({ limit: 1, before })
    pages.push(...page.submissions.map(({ submissionId }) => submissionId))
    before = page.next
  } while (before !== null)
  t.strictSame(pages, all)
  t.strictSame((await list({}, 'acc_nobody')).submissions, [])
  const wrong: readonly (readonly [name: string, ...values: unknown[]])[] = [
    ['limit', 0, 101, 1.5, '1', {}, [], true],
    ['before', 'x', 7, '0'.repeat(70_000)],
    ['route', '/none', 7],
    ['state', 'gone', {}],
    ['signature', '0OIl', 'a'.repeat(100_000), 7],
    ['fromMs', -1, '1', 2 ** 60],
    ['untilMs', -1, 1.5],
  ]
  for (const [name, ...values] of wrong)
    for (const value of values)
      await t.rejects(queries.list('acc', { [name]: value }), { name: 'submissionFilter' }, name)
})

t.test('hours and lane of getLanePerformance', async t => {
  const { clock, queries } = await open(t)
  const hour = 3_600_000
  const now = Math.floor(clock.ms / hour)
  clock.ms = now * hour + 1
  const ask = async (members: object): Promise<unknown> =>
    JSON.parse(Buffer.from(await queries.performance('acc', { ...members })).toString())
  const day = { accessId: 'acc', from: now - 23, until: now + 1, isByHour: false }
  t.strictSame(await ask({}), day, 'the last 24 hours with this one')
  t.strictSame(await ask({ fromMs: null, untilMs: null, grain: null, lane: null }), day)
  t.strictSame(await ask({ untilMs: now * hour, lane: 'lander', grain: 'hour', x: 1 }), {
    ...day,
    ...{ from: now - 24, until: now, isByHour: true, lane: 'lander' },
  })
  t.match(await ask({ fromMs: 1, untilMs: 2 }), { from: 0, until: 1 }, 'whole hours')
  t.match(await ask({ fromMs: (now - 743) * hour }), { from: now - 743, until: now + 1 })
  const refused = (members: object, name: string, expected: string): Promise<unknown> =>
    t.rejects(queries.performance('acc', { ...members }), {
      name: 'submissionFilter',
      message: `Invalid param: ${name} must be ${expected}`,
    })
  for (const value of [-1, '1', 1.5, 2 ** 60, {}, [], true])
    for (const name of ['fromMs', 'untilMs'])
      await refused({ [name]: value }, name, 'Unix milliseconds')
  for (const lane of ['', 'a b', 7, {}, 'x'.repeat(70_000), "'; DROP TABLE lane_hour"])
    await refused({ lane }, 'lane', 'the name of a lane')
  await refused({ grain: 'minute' }, 'grain', 'one of range, hour')
  const range = (max: number): string => `before \`untilMs\`, in at most ${max} hours with it`
  await refused({ fromMs: (now - 744) * hour }, 'fromMs', range(744))
  await refused({ fromMs: (now - 24) * hour, grain: 'hour' }, 'fromMs', range(24))
  await refused({ fromMs: 2 * hour, untilMs: 2 * hour }, 'fromMs', range(744))
  await refused({ untilMs: 0 }, 'fromMs', range(744))
  await refused({ fromMs: 5, untilMs: 1 }, 'fromMs', range(744))
  await refused({ fromMs: (now + 1) * hour }, 'fromMs', range(744))
})
