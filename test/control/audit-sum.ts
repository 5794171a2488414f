// The audit logs of several machines as one list, in pages.
import fc from 'fast-check'
import t from 'tap'
import * as v from 'valibot'
import type { AuditEntry } from '../../src/access/audit/audit-log.js'
import { createAuditSum } from '../../src/control/audit-sum.js'
import { createPeerRoutes } from '../../src/control/peer-routes.js'
import { readAudit, type AuditSearch } from '../../src/dashboard/api/read-audit.js'

const NOW_MS = 1_000_000
const entry = (atMs: number): AuditEntry => ({ atMs, action: 'grant', by: 'ada', from: '::1' })

/** Logs by machine, as times; the newest is last. */
type Logs = Record<string, number[]>

const readOf = (times: readonly number[]) => (search: AuditSearch) =>
  readAudit(
    {
      read: async ({ beforeMs, limit }) =>
        times
          .filter(atMs => atMs < beforeMs)
          .toReversed()
          .slice(0, limit)
          .map(entry),
    },
    search,
    NOW_MS,
  )

/** What the first machine answers. `rows` are the sizes of the others' answers. */
const openSum = (logs: Logs, { missing = [] as string[], rows = [] as number[] } = {}) => {
  const [machine = '', ...others] = Object.keys(logs)
  return createAuditSum({
    own: search => readOf(logs[machine] ?? [])(search),
    machine,
    locations: ['fra'],
    peers: {
      readEach: async (_locations, path, schema) => ({
        missing,
        each: await Promise.all(
          others.map(async id => {
            const route = createPeerRoutes({
              search: () => Promise.reject(new Error('not asked')),
              find: async () => undefined,
              audit: readOf(logs[id] ?? []),
            }).find(one => one.path.startsWith('/audit/'))
            const [, , subject = '', access = '', before = '', limit = ''] = path.split('/')
            const answer = v.parse(schema, await route?.answer({ subject, access, before, limit }))
            rows.push((answer as { entries: unknown[] }).entries.length)
            return { machine: id, answer }
          }),
        ),
      }),
    },
  })
}

/** All pages, as `machine atMs`; `between` runs before each further page. */
const readAll = async (logs: Logs, limit: number, between = () => {}) => {
  const rows: number[] = []
  const audit = openSum(logs, { rows })
  const pages: string[][] = []
  let before: number | undefined
  do {
    const page = await audit({ limit, before })
    pages.push(page.entries.map(({ machine, atMs }) => `${machine} ${atMs}`))
    if (page.next !== null && page.next >= (before ?? Infinity)) throw new Error('no progress')
    before = page.next ?? undefined
    between()
  } while (before !== undefined)
  return { pages, rows }
}

/** What all pages must have: newest first, of equal times in the order of the machines' ids. */
const sorted = (logs: Logs): string[] =>
  Object.entries(logs)
    .flatMap(([machine, times]) => times.map(atMs => ({ machine, atMs })))
    .toSorted((one, other) => other.atMs - one.atMs || (one.machine < other.machine ? -1 : 1))
    .map(({ machine, atMs }) => `${machine} ${atMs}`)

t.test('entries of one millisecond stay on one page, in the order of machines', async t => {
  const logs = { b: [1, 3, 5], a: [3, 4, 5], c: [3] }
  const { pages } = await readAll(logs, 2)
  t.strictSame(pages, [['a 5', 'b 5'], ['a 4', 'a 3', 'b 3', 'c 3'], ['b 1']])
  t.strictSame((await readAll({ a: [], b: [] }, 2)).pages, [[]])
  t.strictSame((await readAll({ a: [1, 2], b: [] }, 2)).pages, [['a 2', 'a 1'], []])
  t.match(await openSum(logs, { missing: ['d'] })({ limit: 1 }), { missing: ['d'], next: 5 })
})

t.test('pages have each entry once, while others are added', async () => {
  const times = fc
    .uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 30 })
    .map(all => all.toSorted((one, other) => one - other))
  const property = fc.asyncProperty(
    fc.record({ a: times, b: times, c: times }),
    fc.integer({ min: 1, max: 12 }),
    async (logs, limit) => {
      const expected = sorted(logs)
      let atMs = 100
      const { pages, rows } = await readAll(logs, limit, () => {
        for (const log of Object.values(logs)) log.push(atMs)
        atMs += 1
      })
      if (pages.flat().join() !== expected.join()) throw new Error(JSON.stringify(pages))
      // Others at the same millisecond as the last one of the page.
      if (pages.some(page => page.length > limit + 2)) throw new Error('a page is too long')
      if (rows.some(count => count > limit)) throw new Error('a machine was asked for more')
    },
  )
  await fc.assert(property, { numRuns: 100 })
})

t.test('a log whose clock was set back is read whole', async t => {
  const logs = { a: [9, 10, 4, 5], b: [6, 7, 8] }
  const { pages } = await readAll(logs, 4)
  t.strictSame(pages.flat().toSorted(), sorted(logs).toSorted())
})
