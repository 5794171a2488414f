import t from 'tap'
import { ADA, startDashboard } from '../../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../../fixtures/dashboard/dashboard-client.js'

const ID = '0190b0a0-0000-7000-8000-000000000000'
const SIGNATURE = '5'.repeat(88)
const INSTANT_PROBLEM = 'query.untilMs must be an integer from 0 to 281474976710655'

t.test('submissions are searched by what the query names, from a place on', async t => {
  const searched: unknown[] = []
  const dashboard = await startDashboard(t, {
    submissions: search => {
      searched.push(search)
      return { submissions: [], next: ID }
    },
  })
  const { accessId } = await dashboard.grant('ada')
  const ada = new DashboardClient(dashboard.url)
  const list = `/api/accesses/${accessId}/submissions`
  t.equal((await ada.ask(list)).status, 401)
  await ada.signIn(ADA)
  t.match((await ada.ask(`${list}?limit=1&route=/lander&state=final`)).json, { next: ID })
  await ada.ask(`${list}?limit=200&signature=${SIGNATURE}&before=${ID}`)
  await ada.ask(`${list}?limit=2&location=fra-2&fromMs=0&untilMs=${2 ** 48 - 1}`)
  t.strictSame(searched, [
    { accessId, limit: 1, route: '/lander', state: 'final' },
    { accessId, limit: 200, signature: SIGNATURE, before: ID },
    { accessId, limit: 2, location: 'fra-2', fromMs: 0, untilMs: 2 ** 48 - 1 },
  ])
  // The times of the summaries.
  for (const times of ['span=300000&step=60000', 'span=2592000000&step=86400000']) {
    await ada.ask(`${list}?limit=3&${times}`)
    const { json } = await ada.ask(`${list}/summary?${times}`)
    const { fromMs } = Object(json)
    t.strictSame(searched.pop(), { accessId, limit: 3, fromMs })
  }
  await ada.ask(`${list}?limit=3&span=60000&fromMs=7`)
  t.match(searched.pop(), { fromMs: 7 })
  await ada.ask(`${list}?limit=3&span=60000&untilMs=100000`)
  t.match(searched.pop(), { fromMs: 40_000, untilMs: 100_000 })
  // A span from before 1970 begins in it.
  await ada.ask(`${list}?limit=3&span=${'9'.repeat(15)}`)
  t.match(searched.pop(), { fromMs: 0 })
  const refusals = [
    ['route=/rpc', 'query.route must be a submission route'],
    ['state=gone', 'query.state must be a state of a submission'],
    ['signature=0OIl', 'query.signature must be the signature of a transaction, in base58'],
    [
      `signature=${'5'.repeat(89)}`,
      'query.signature must be the signature of a transaction, in base58',
    ],
    ['before=1', 'query.before must be the id of a submission'],
    ['location=-', 'query.location must be the id of a location'],
    [`location=${'a'.repeat(33)}`, 'query.location must be the id of a location'],
    ['span=-1', 'query.span must be milliseconds'],
    ['step=59999', 'query.step must be a multiple of 60000'],
    ['fromMs=-1', INSTANT_PROBLEM.replace('untilMs', 'fromMs')],
    ['untilMs=1e3', INSTANT_PROBLEM],
    [`untilMs=${2 ** 48}`, INSTANT_PROBLEM],
    [`untilMs=${'9'.repeat(5_000)}`, INSTANT_PROBLEM],
  ] as const
  for (const [query, message] of refusals)
    t.match(await ada.ask(`${list}?${query}`), { status: 400, json: { error: { message } } })
  t.equal(searched.length, 3)
  const other = await dashboard.grant('ben')
  t.equal((await ada.ask(`/api/accesses/${other.accessId}/submissions`)).status, 404)
})
