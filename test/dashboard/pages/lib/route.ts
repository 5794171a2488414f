import t from 'tap'
import {
  ACCESS_TABS,
  formatAccess,
  formatOperatorAccess,
  formatOperatorRoute,
  formatRoute,
  OPERATOR_VIEWS,
  PAGES,
  parseOperatorRoute,
  parseOperatorView,
  parsePage,
  parseQuery,
  parseRoute,
  TABS,
  type Route,
} from '../../../../src/dashboard/pages/lib/route.js'
import { NO_FILTERS, toFilters } from '../../../../src/dashboard/pages/lib/submission-text.js'
import { EVERY_VIEW } from '../../../fixtures/dashboard/every-view.js'

t.test('a choice can be written to the URL and read back', t => {
  const routes: readonly [fragment: string, route: Route][] = [
    ['#/', { accessId: undefined, network: undefined, location: undefined, tab: 'connect' }],
    ['#/acc_1', { accessId: 'acc_1', network: undefined, location: undefined, tab: 'connect' }],
    ['#/acc_1/main', { accessId: 'acc_1', network: 'main', location: undefined, tab: 'connect' }],
    ['#/acc_1/main/fra', { accessId: 'acc_1', network: 'main', location: 'fra', tab: 'connect' }],
    ['#/a/m/fra/usage', { accessId: 'a', network: 'm', location: 'fra', tab: 'usage' }],
    ['#/access/acc_1', { accessId: 'acc_1', tab: 'connect', accessTab: 'usage' }],
    ['#/access/a%2Fb/settings', { accessId: 'a/b', tab: 'connect', accessTab: 'settings' }],
    ['#/a%2Fb/m%20n/%23', { accessId: 'a/b', network: 'm n', location: '#', tab: 'connect' }],
  ]
  for (const [fragment, route] of routes) {
    t.strictSame(parseRoute(fragment), route, fragment)
    t.equal(formatRoute(route), fragment)
  }
  t.end()
})

t.test('what is of an access now is found at its former fragments', t => {
  const moved: readonly [fragment: string, now: string][] = [
    ['#/a/m/fra/submissions?state=final', '#/access/a/submissions'],
    ['#/a/m/fra/usage?range=day&scope=all', '#/access/a'],
    ['#/a/m/fra/usage?code=-32602', '#/access/a'],
    ['#/a/m/fra/usage?range=day&location=fra', '#/a/m/fra/usage'],
    ['#/access/a/elsewhere', '#/access/a'],
  ]
  for (const [fragment, now] of moved) t.equal(formatRoute(parseRoute(fragment)), now, fragment)
  t.equal(formatAccess('a', 'usage', { at: 'failures' }), '#/access/a?at=failures')
  t.end()
})

t.test('filters of a list are behind the choice', t => {
  const fragment = '#/access/a/submissions?route=%2Flander&state=final'
  t.match(parseRoute(fragment), { accessId: 'a', accessTab: 'submissions' })
  t.strictSame(parseQuery(fragment), { route: '/lander', state: 'final' })
  t.equal(parsePage('#/operator?a=b'), 'operator')
  const hostile: readonly [query: string, filters: object][] = [
    ['', {}],
    ['?', {}],
    ['?%E0%A4%A', {}],
    ['?route=a&route=b', { route: 'b' }],
    ['?constructor=x&__proto__=y&toString=z', {}],
    ['?fromMs=x&untilMs=9999999999999999', {}],
    ['?fromMs=1&untilMs=2', {}],
  ]
  for (const [query, filters] of hostile)
    t.strictSame(toFilters(parseQuery(`#/a${query}`)), { ...NO_FILTERS, ...filters }, query)
  t.end()
})

t.test("a view of the operator's page is in the URL", t => {
  t.equal(parseOperatorView('#/operator/lanes'), 'lanes')
  for (const fragment of ['#/operator', '#/operator/', '#/operator/x', '#/operator/constructor'])
    t.equal(parseOperatorView(fragment), 'accesses', fragment)
  t.end()
})

t.test('what an operator opens of an access is in the URL', t => {
  const routes: readonly [fragment: string, route: Route][] = [
    ['#/operator/access/acc_1', { accessId: 'acc_1', tab: 'connect', accessTab: 'usage' }],
    [
      '#/operator/access/a/submissions',
      { accessId: 'a', tab: 'connect', accessTab: 'submissions' },
    ],
    [
      '#/operator/location/a/m/fra/usage',
      { accessId: 'a', network: 'm', location: 'fra', tab: 'usage' },
    ],
    [
      '#/operator/location/a/m',
      { accessId: 'a', network: 'm', location: undefined, tab: 'connect' },
    ],
  ]
  for (const [fragment, route] of routes) {
    t.strictSame(parseOperatorRoute(fragment), route, fragment)
    t.equal(formatOperatorRoute(route), fragment)
    t.equal(parsePage(fragment), 'operator')
  }
  t.equal(formatOperatorAccess('a', 'usage', { range: 'day' }), '#/operator/access/a?range=day')
  t.match(parseOperatorRoute('#/operator/access/a?range=day&code=1'), { accessId: 'a' })
  for (const end of [
    '',
    '/',
    '/lanes',
    '/access',
    '/access/',
    '/access/%',
    '/location/',
    '/x/acc_1',
  ])
    t.equal(parseOperatorRoute(`#/operator${end}`), undefined, end)
  t.end()
})

t.test('an invalid URL chooses nothing', t => {
  for (const fragment of ['', '#', '#/%', '#//', '#/%E0%A4%A/x'])
    t.equal(parseRoute(fragment).accessId, undefined, fragment)
  t.equal(parseRoute('#/a/m/fra/elsewhere').tab, 'connect')
  t.end()
})

t.test('some pages have a name in place of an access', t => {
  for (const fragment of ['#/sessions', '#sessions', '#/sessions/more'])
    t.equal(parsePage(fragment), 'sessions', fragment)
  for (const fragment of ['', '#/', '#/acc_sessions', '#/acc_1/sessions', '#/Sessions'])
    t.equal(parsePage(fragment), undefined, fragment)
  t.end()
})

t.test('the list of every view has each page of the router', t => {
  const ofRoute = ({ accessId, location, accessTab, tab }: Route): string => {
    if (accessTab !== undefined) return `access/${accessTab}`
    return accessId === undefined || location === undefined ? 'overview' : `location/${tab}`
  }
  const pagesOf = (fragment: string): readonly string[] => {
    const page = parsePage(fragment)
    if (page === undefined) return [ofRoute(parseRoute(fragment))]
    if (page !== 'operator') return [page]
    const opened = parseOperatorRoute(fragment)
    return [page, `operator/${opened ? ofRoute(opened) : parseOperatorView(fragment)}`]
  }
  const listed = new Set(
    EVERY_VIEW.filter(({ user }) => user !== undefined)
      .map(({ url }) => url({ ada: 'acc_1', ben: 'acc_2' }).replace('/', ''))
      .flatMap(pagesOf),
  )
  const pages = [
    'overview',
    ...PAGES,
    ...TABS.map(tab => `location/${tab}`),
    ...ACCESS_TABS.map(tab => `access/${tab}`),
    ...OPERATOR_VIEWS.map(view => `operator/${view}`),
    ...['access/usage', 'access/submissions', 'location/usage', 'location/machines'].map(
      tab => `operator/${tab}`,
    ),
  ]
  for (const page of pages) t.ok(listed.has(page), page)
  t.equal(new Set(EVERY_VIEW.map(({ name }) => name)).size, EVERY_VIEW.length, 'names differ')
  t.end()
})
