import t from 'tap'
import { defaults } from '../../../src/submission/store/options.js'
import type { SubmissionFilter } from '../../../src/submission/store/search.js'
import {
  senderPath,
  StoreReader,
  type SearchStart,
} from '../../../src/submission/store/store-reader.js'
import {
  openSubmissionStore,
  type SentSubmission,
  type SubmissionStore,
} from '../../../src/submission/store/submission-store.js'
import { formatId } from '../../../src/submission/store/submission-id.js'
import type { Submission } from '../../../src/submission/store/submission.js'
import { openStores as open } from '../../fixtures/submission/store.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'
import { until } from '../../fixtures/until.js'

t.test('the submissions of an access, of every table, in pages', async t => {
  const { dir, openStore, newId, clock } = await open(t)
  const store = await openStore()
  const reader = new StoreReader(dir, { ...defaults, recentMax: 2 })
  const mine: string[] = []
  const keep = (accessId: string, more: Partial<Submission>): Uint8Array => {
    clock.ms += 1
    const id = newId()
    store.record(id, { ...ACCEPTED, accessId, ...more })
    if (accessId === 'acc_mine') mine.unshift(formatId(id))
    return id
  }
  keep('acc_mine', {})
  keep('acc_mine', { outcome: 'invalid' })
  for (let count = 0; count < 7; count++) keep('acc_other', {})
  const lander = keep('acc_mine', { route: '/lander', signatures: ['other', 'one'] })
  keep('acc_mine', { route: '/lander', outcome: 'invalid', signatures: [] })
  const refused = keep('acc_mine', { outcome: 'refused', location: 'nyc' })
  const search = async (
    filter: Omit<SubmissionFilter, 'accessId'> = {},
    { countMax = 9, before, limitMs = 5_000 }: Partial<SearchStart> = {},
  ) => {
    const start = { before, countMax, limitMs, now: () => clock.ms }
    const { found, next } = await reader.search({ accessId: 'acc_mine', ...filter }, start)
    return { ids: found.map(({ id }) => formatId(id)), next }
  }
  await until('all are stored', async () => (await search()).ids.length === 5)
  t.strictSame(await search(), { ids: mine, next: undefined })
  const pages: string[][] = []
  let before: Uint8Array | undefined
  do {
    const page = await search({}, { countMax: 2, before })
    pages.push(page.ids)
    before = page.next
  } while (before !== undefined)
  t.strictSame(pages.flat(), mine, 'pages leave none out and have none twice')
  t.ok(pages.every(page => page.length <= 2))
  const idsOf = async (filter: Omit<SubmissionFilter, 'accessId'>) => (await search(filter)).ids
  t.strictSame(await idsOf({ signature: 'one' }), [formatId(lander)])
  t.strictSame(await idsOf({ signature: 'on' }), [], 'not a part of one')
  t.strictSame(await idsOf({ route: '/lander', state: 'accepted' }), [formatId(lander)])
  t.strictSame(await idsOf({ state: 'refused' }), [formatId(refused)])
  t.strictSame(await idsOf({ location: 'nyc' }), [formatId(refused)])
  t.strictSame(await idsOf({ location: 'ny' }), [], 'not a part of one')
  t.strictSame(await idsOf({ route: '/lander-submit-batch' }), [])
  const cut = await search({}, { limitMs: 0 })
  t.ok(cut.ids.length < 5 && cut.next !== undefined, 'a search that takes long can be continued')
  const rest = await search({}, { before: cut.next })
  t.strictSame([...cut.ids, ...rest.ids], mine)
  await reader.close()
  await store.close()
  t.strictSame((await search()).ids, [], 'closed')
})

t.test('an access has no more submissions than its bound, and evicts no other', async t => {
  const { dir, openStore, newId, clock } = await open(t, { accessMax: 3 })
  const keep = async (store: SubmissionStore, accessId: string): Promise<string> => {
    clock.ms += 1
    const id = newId()
    store.record(id, { ...ACCEPTED, accessId })
    await until('it is stored', () => reader.get(id) !== undefined)
    return formatId(id)
  }
  const reader = new StoreReader(dir)
  const kept = async (accessId: string): Promise<string[]> => {
    const start = { before: undefined, countMax: 99, limitMs: 5_000, now: () => clock.ms }
    const { found } = await reader.search({ accessId }, start)
    return found.map(({ id }) => formatId(id)).toReversed()
  }
  const first = await openStore()
  const other = await keep(first, 'acc_other')
  const mine: string[] = []
  for (let count = 0; count < 5; count++) mine.push(await keep(first, 'acc_mine'))
  await until('the oldest two are removed', async () => (await kept('acc_mine')).length === 3)
  t.strictSame(await kept('acc_mine'), mine.slice(2))
  await first.close()
  const second = await openStore()
  mine.push(await keep(second, 'acc_mine'))
  await until('one more is removed', async () => (await kept('acc_mine')).length === 3)
  t.strictSame(await kept('acc_mine'), mine.slice(3), 'a later process counts what is there')
  t.strictSame(await kept('acc_other'), [other])
  await reader.close()
  await second.close()
})

t.test('what was sent is announced, and what became of it is added', async t => {
  const { openStore, newId, clock, faults, dir, wal, options } = await open(t)
  const store = await openStore()
  await store.close()
  const sent: SentSubmission[] = []
  let isLookedFor = true
  const reopen = async () => {
    const onFault = (fault: unknown) => faults.push(fault)
    const onSent = (one: SentSubmission) => sent.push(one) > 0 && isLookedFor
    const modules = { wal, now: () => clock.ms, onFault, onSent }
    const opened = await openSubmissionStore(senderPath(dir), modules, options)
    await opened.resume()
    return opened
  }
  const first = await reopen()
  const [id, ended, pending] = [newId(), newId(), newId()]
  t.equal(await first.begin(id, PENDING)?.end(ACCEPTED), true)
  first.record(ended, ACCEPTED)
  first.record(pending, { ...PENDING, route: '/lander' })
  first.record(newId(), { ...ACCEPTED, outcome: 'invalid' })
  first.record(newId(), { ...ACCEPTED, signatures: [] })
  t.strictSame(
    sent.map(({ isRecovered, ...one }) => [one.id, isRecovered]),
    [
      [id, false],
      [ended, false],
    ],
  )
  const inBlock = { slot: 9, index: 1, error: null, isFinal: true, seenAtMs: clock.ms }
  const landing = { transactions: [inBlock, inBlock] } as const
  await first.amend(ended, { landing })
  t.strictSame(first.get(ended), { ...ACCEPTED, landing })
  await first.amend(newId(), { landing })
  await first.close()
  sent.length = 0
  const second = await reopen()
  t.strictSame(second.get(ended)?.landing, landing, 'it is stored')
  t.strictSame(
    sent
      .map(({ id: one, isRecovered, submission }) => [
        formatId(one),
        isRecovered,
        submission.outcome,
      ])
      .toSorted(),
    [
      [formatId(id), true, 'accepted'],
      [formatId(pending), true, 'unknown'],
    ].toSorted(),
    'what an earlier process has sent is looked for, and nobody waits for its answers',
  )
  await until('the lost one is stored', () => second.get(pending)?.outcome === 'unknown')
  clock.ms += options.awaitedMs + 1
  await second.close()
  sent.length = 0
  const third = await reopen()
  t.strictSame(sent, [], 'not for ever')
  isLookedFor = false
  const unseen = newId()
  third.record(unseen, ACCEPTED)
  t.match(third.get(unseen), { landing: { transactions: [{ end: 'unseen' }, { end: 'unseen' }] } })
  t.equal(sent.length, 1)
  await third.close()
  t.strictSame(faults, [])
})
