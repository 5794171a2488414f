import t, { type Test } from 'tap'
import type { SubmissionView } from '../../../../src/dashboard/api/submissions/shapes.js'
import { ADA, startDashboard, SUBMISSION_VIEW } from '../../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'

const COUNT = 450
const idOf = (index: number): string =>
  `0190b0a0-0000-7000-8000-${String(COUNT - index).padStart(12, '0')}`
const ALL = Array.from({ length: COUNT }, (_, index) => ({
  ...SUBMISSION_VIEW,
  submissionId: idOf(index),
}))
/** Its reason would be a formula, and its error has a comma and a quote. */
const SHOWN = { index: null, delaySlots: null, delayMs: null, tips: [] }
const HOSTILE: SubmissionView = {
  ...SUBMISSION_VIEW,
  reason: '=HYPERLINK("http://evil.example")',
  transactions: [
    { ...SHOWN, signature: 'one', state: 'failed', slot: 7, error: 'a, "b"' },
    { ...SHOWN, signature: 'two', state: 'waiting', slot: null, error: null },
  ],
}

const open = async (t: Test, found = ALL, bounds = {}) => {
  const limits: number[] = []
  const begins: (number | undefined)[] = []
  const dashboard = await startDashboard(t, {
    submissionStore: bounds,
    submissions: ({ before, fromMs, limit }) => {
      limits.push(limit)
      begins.push(fromMs)
      const from =
        before === undefined ? 0 : 1 + found.findIndex(one => one.submissionId === before)
      const submissions = found.slice(from, from + limit)
      const isLast = from + limit >= found.length
      return { submissions, next: isLast ? null : (submissions.at(-1)?.submissionId ?? null) }
    },
  })
  const { accessId } = await dashboard.grant('ada')
  const ada = new DashboardClient(dashboard.url)
  const ask = (query: string) => ada.ask(`/api/accesses/${accessId}/submissions/export?${query}`)
  const signedOut = await ask('format=csv')
  t.equal(signedOut.status, 401)
  await ada.signIn(ADA)
  return { accessId, ask, begins, dashboard, limits }
}

t.test('what matches is one file, of any number of pages', async t => {
  const { accessId, ask, begins, dashboard, limits } = await open(t)
  const json = await ask('format=json')
  t.strictSame(json.json, { submissions: ALL, next: null })
  t.strictSame(limits, [200, 200, 200])
  t.equal(
    json.headers.get('content-disposition'),
    `attachment; filename="submissions-${accessId}.json"`,
  )
  t.equal(json.headers.get('x-next'), null)
  const csv = await ask('format=csv')
  t.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
  t.equal(csv.headers.get('content-encoding'), null)
  t.equal(csv.text.split('\r\n').length, COUNT + 2, 'a head, and no line is left out')
  begins.length = 0
  await ask('format=csv&span=3600000&step=3600000')
  t.equal(begins[0], Math.floor(dashboard.clock.nowMs / 3_600_000) * 3_600_000)
  t.match((await ask('format=xml')).json, {
    error: { message: 'query.format must be csv or json' },
  })
})

t.test('a file is bounded, and says where it continues', async t => {
  const { accessId, ask } = await open(t, ALL, { exportMax: 300 })
  const first = await ask('format=json')
  const next = String(first.headers.get('x-next'))
  t.match(first.json, { next })
  t.equal(
    first.headers.get('content-disposition'),
    `attachment; filename="submissions-${accessId}-part.json"`,
  )
  const rest = await ask(`format=json&before=${next}`)
  const all = [first, rest].flatMap(({ json }) => (json as { submissions: typeof ALL }).submissions)
  t.strictSame(all, ALL)
  t.equal(rest.headers.get('x-next'), null)
})

t.test('no cell of a CSV file is a formula', async t => {
  const { ask } = await open(t, [HOSTILE])
  const [head, one, two, ...rest] = (await ask('format=csv')).text.split('\r\n')
  t.match(head, /^submission,received,route,network,location,state,reason,signature,slot,error,/)
  t.ok(one?.includes(`"'=HYPERLINK(""http://evil.example"")",one,7,"a, ""b""",`))
  t.ok(two?.includes(',two,,,'))
  t.ok(two?.endsWith(',5,,relayBundle:accepted'), 'slot at receipt, tips and lanes')
  t.strictSame(rest, [''])
})
