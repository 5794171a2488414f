import t from 'tap'
import {
  isFound,
  isScopeFound,
  marksOfAccess,
  marksOfScope,
  titleOf,
} from '../../../../src/dashboard/pages/lib/overview.js'
import type { Access, OverviewScope } from '../../../../src/dashboard/pages/lib/wire.js'

const NONE = { requests: 0, errors: 0, rateLimited: 0, refused: 0 }
const ACCESS: Access = {
  accessId: 'acc_1',
  role: 'owner',
  kind: 'pass',
  state: 'active',
  product: { id: 'node', name: 'Node access', kind: 'node' },
  label: 'Zürich bot',
  networks: [{ id: 'main', name: 'Mainnet' }],
  locations: [{ id: 'fra', name: 'Frankfurt' }],
  limits: {
    requestsPerSecondMax: 1,
    requestsBurstMax: 1,
    requestsInFlightMax: 1,
    socketsMax: 1,
    subscriptionsPerSocketMax: 1,
  },
  validFromMs: 0,
  validUntilMs: null,
  endedAtMs: null,
  tokens: [],
}
const SCOPE: OverviewScope = {
  accessId: 'acc_1',
  network: 'main',
  location: 'fra',
  tail: 'vcTw',
  hour: NONE,
  day: NONE,
  hours: [],
}

t.test('marks of a scope', t => {
  const textsOf = (scope: Partial<OverviewScope>, state?: string): readonly string[] =>
    marksOfScope({ ...SCOPE, ...scope }, state).map(({ text }) => text)
  t.strictSame(textsOf({}, 'ok'), [])
  t.strictSame(textsOf({}, undefined), [])
  t.strictSame(textsOf({}, 'behind'), ['Behind'])
  t.strictSame(textsOf({ tail: null }, 'behind'), [], 'nobody uses it')
  t.strictSame(textsOf({}, 'never-heard-of'), ['State unknown'])
  t.strictSame(textsOf({ hour: { ...NONE, requests: 100, errors: 9 } }, 'ok'), [], 'a few')
  t.strictSame(textsOf({ hour: { ...NONE, requests: 201, errors: 10 } }, 'ok'), [], 'a small share')
  t.strictSame(textsOf({ hour: { ...NONE, requests: 200, errors: 10 } }, 'ok'), ['10 errors'])
  const hour = { ...NONE, rateLimited: 1, refused: 2 }
  t.strictSame(textsOf({ hour }, 'ok'), ['1 request over a limit', '2 refused attempts'])
  t.strictSame(
    marksOfScope({ ...SCOPE, hour }, 'behind').map(({ href }) => href),
    [
      '#/access/acc_1?at=incidents',
      '#/access/acc_1?location=fra&origin=limit&at=failures',
      '#/acc_1/main/fra/usage?at=refused',
    ],
    'each leads to what it marks',
  )
  t.end()
})

t.test('marks of an access', t => {
  const dayMs = 86_400_000
  t.strictSame(marksOfAccess(ACCESS, 0), [])
  t.strictSame(marksOfAccess({ ...ACCESS, validUntilMs: 7 * dayMs + 1 }, 0), [])
  t.match(marksOfAccess({ ...ACCESS, validUntilMs: 7 * dayMs }, 0), [{ text: 'Ends in 7 days' }])
  t.match(marksOfAccess({ ...ACCESS, state: 'ended' }, 0), [{ text: 'Ended' }])
  t.match(marksOfAccess({ ...ACCESS, state: 'upcoming' }, 0), [{ text: 'Not yet valid' }])
  t.end()
})

t.test('a search is for words in any order, case and accent', t => {
  for (const query of [
    '',
    ' ',
    'zurich',
    'ZÜRICH fra',
    'node main',
    'vcTw',
    'acc_1',
    'frankfurt bot',
  ])
    t.ok(isScopeFound(query, ACCESS, SCOPE), query)
  for (const query of ['nyc', 'zurich nyc', 'vcTx'])
    t.notOk(isScopeFound(query, ACCESS, SCOPE), query)
  t.ok(isFound('东', ['东京']))
  t.equal(titleOf(ACCESS), 'Zürich bot')
  t.equal(titleOf({ ...ACCESS, label: '' }), 'Node access')
  t.end()
})
