import t from 'tap'
import type { AccessService } from '../../../src/access/service.js'
import { defaults as eventOptions } from '../../../src/dashboard/events/options.js'
import type { DashboardReply } from '../../fixtures/dashboard/dashboard-client.js'
import { BEN, NO_ACCESS_USAGE, NO_PLACE_USAGE } from '../../fixtures/dashboard/dashboard.js'
import { answersOf, eventsOf, openStream, watchOf } from '../../fixtures/dashboard/event-page.js'
import { CYD, setUpMembers } from '../../fixtures/dashboard/members.js'
import { sendInHalves } from '../../fixtures/dashboard/send-in-halves.js'
import { until } from '../../fixtures/until.js'

type Operations = Readonly<Record<string, { readonly security: readonly object[] }>>

const codeOf = ({ json }: DashboardReply): unknown => Object(json).error?.code

t.test('each route of an access takes those whose role it declares, and no others', async t => {
  const setup = await setUpMembers(t, { machines: () => [] })
  const { accessId, add, ben, dashboard, open, path: access, setRole } = setup
  const document = Object((await ben.ask('/api/openapi.json')).json)
  const calls = Object.entries(document.paths as Record<string, Operations>)
    .filter(([path]) => path.startsWith('/api/') && path.includes('{accessId}'))
    // Those of operators need no role in the access: test/dashboard/api/operator/access-routes.ts.
    .filter(([path]) => !path.startsWith('/api/operator/'))
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { security }]) => {
        const [roles] = security.flatMap(way => ('session' in way ? [way.session] : []))
        const at = path
          .replace('{accessId}', accessId)
          .replace('{network}', 'main')
          .replace('{location}', 'fra')
          .replaceAll(/\{\w+\}/g, 'x')
        return { method: method.toUpperCase(), path, at, role: String(roles) }
      }),
    )
  t.ok(calls.length > 30)
  for (const { method, path, role } of calls) {
    const isChange = method !== 'GET' && !path.endsWith('/members/leave')
    const wanted = isChange || /webhooks$/.test(path) ? /^(manage|owner)$/ : /^view$/
    t.match(role, wanted, `${method} ${path}`)
  }
  t.strictSame(
    calls.filter(({ role }) => role === 'owner').map(({ method, path }) => `${method} ${path}`),
    ['POST', 'PUT']
      .map(method => `${method} /api/accesses/{accessId}/members`)
      .concat('POST /api/accesses/{accessId}/members/remove'),
  )

  const stateOf = () => {
    const { accessService } = dashboard
    const { members: _members, ...found } = accessService.find(accessId) ?? { members: [] }
    return JSON.stringify([found, accessService.list(accessId), accessService.keysOf(accessId)])
  }
  const before = stateOf()
  /** Calls with bodies that change nothing, where a role does not refuse them first. */
  const tryAll = async (own: 'view' | 'manage'): Promise<void> => {
    for (const { at, method, role } of calls) {
      const isTaken = role === 'view' || role === own
      // What would be taken is called only if it cannot change anything: its body is refused.
      const body = method === 'GET' ? undefined : { unknown: 1 }
      const answer = body === undefined ? await ben.ask(at) : await ben.call(method, at, body)
      const name = `${method} ${at} as ${own}`
      if (isTaken) t.notMatch(codeOf(answer), /accessRole|noSuchAccess|signedOut/, name)
      else t.strictSame([answer.status, codeOf(answer)], [403, 'accessRole'], name)
    }
  }
  await add(BEN.email, 'view')
  await tryAll('view')
  await setRole(BEN.email, 'manage')
  await tryAll('manage')
  t.equal(stateOf(), before)
  t.equal(dashboard.accessService.find(accessId)?.members?.length, 1)

  // An access that exists and one that does not are the same to everyone else.
  await add(CYD.email, 'manage')
  const cyd = await open(CYD)
  for (const { at, method } of calls) {
    const answers = []
    for (const one of [at, at.replace(access, '/api/accesses/acc_000000000000')])
      answers.push(method === 'GET' ? await cyd.ask(one) : await cyd.call(method, one, {}))
    const [existing, absent] = answers
    t.strictSame([existing?.status, existing?.text], [absent?.status, absent?.text], at)
    t.equal(existing?.status, 404)
  }
})

t.test('look-alikes of a member are other persons', async t => {
  const { add, ben, path } = await setUpMembers(t)
  for (const email of [
    'b\u0435n@test.example',
    'ben@t\u0435st.example',
    '\uff42en@test.example',
    'be\u0144@test.example',
    'ben@test.example.',
    'ben+x@test.example',
    'b.en@test.example',
  ]) {
    t.equal((await add(email, 'manage')).status, 201, JSON.stringify(email))
    t.equal((await ben.ask(path + '/usage')).status, 404)
  }
  t.equal((await add('bEN@TeST.eXAMPLE')).status, 201)
  t.equal((await ben.ask(path + '/usage')).status, 200)
})

t.test('a member who is removed during a request gets nothing of it', async t => {
  const held: (() => void)[] = []
  const hold = () => new Promise<void>(resolve => held.push(resolve))
  const usage = {
    ...NO_PLACE_USAGE,
    ofAccess: async () => {
      await hold()
      return NO_ACCESS_USAGE
    },
  }
  const accessService = (own: AccessService): AccessService => ({
    ...own,
    reveal: async scope => {
      await hold()
      return own.reveal(scope)
    },
  })
  const setup = await setUpMembers(t, { usage, accessService })
  const { accessId, add, ben, dashboard, path, remove, setRole, token } = setup
  const scope = `${path}/networks/main/locations/fra/token`
  const during = async (
    start: () => Promise<DashboardReply>,
    take: () => Promise<DashboardReply>,
  ): Promise<DashboardReply> => {
    await add(BEN.email, 'manage')
    await setRole(BEN.email, 'manage')
    held.length = 0
    const answer = start()
    await until('it runs', () => held.length === 1)
    await take()
    held[0]?.()
    return answer
  }
  const removal = () => remove(BEN.email)
  const demotion = () => setRole(BEN.email, 'view')
  const read = () => ben.ask(`${path}/usage`)
  const reveal = () => ben.call('POST', `${scope}/reveal`, {})
  t.match(await during(read, removal), { status: 404, json: { error: { code: 'noSuchAccess' } } })
  t.equal((await during(read, demotion)).status, 200, 'which a viewer may read')
  for (const [take, status] of [[removal, 404] as const, [demotion, 403] as const]) {
    const answer = await during(reveal, take)
    t.equal(answer.status, status)
    t.notOk(answer.text.includes(token.reveal()))
  }

  await setRole(BEN.email, 'manage')
  const body = '{"address":"8.8.8.8"}'
  const headers = {
    ...{ origin: dashboard.url, 'x-slotline': '1' },
    cookie: Array.from(ben.cookies, ([name, value]) => `${name}=${value}`).join('; '),
  }
  const sent = { url: dashboard.url, path: `${scope}/restriction`, body }
  const status = await sendInHalves(sent, headers, removal)
  t.equal(status, 404, 'a body that ends after the removal')
  t.equal(dashboard.accessService.list(accessId)[0]?.address, undefined)
})

t.test('the open page of a member who is removed is sent nothing more', async t => {
  const use = { ...NO_ACCESS_USAGE, sockets: 1 }
  const setup = await setUpMembers(t, {
    usage: { ...NO_PLACE_USAGE, ofAccess: () => ({ ...use }) },
    dashboard: { events: { ...eventOptions, checkMs: 20 } },
  })
  const { ada, add, ben, dashboard, path, remove, setRole } = setup
  await add(BEN.email, 'manage')
  const watched = watchOf([`${path}/usage`, `${path}/webhooks`])
  const { page } = await openStream(t, dashboard, ben, watched)
  const { page: ownPage } = await openStream(t, dashboard, ada, watched)
  const watchings = () =>
    [...page.text().matchAll(/event: watching\ndata: (.*)\n/g)].map(([, at]) => at)
  await until('both are watched', () => answersOf(page).length === 2)
  await setRole(BEN.email, 'view')
  await until(
    'that is reported',
    () => eventsOf(page).filter(one => one === 'accesses').length === 2,
  )
  await until('webhooks are not watched any more', () => watchings().at(-1) === '[0]')
  await remove(BEN.email)
  use.sockets = 2
  await until('nothing is', () => watchings().at(-1) === '[]')
  await until('the owner is sent more', () => answersOf(ownPage).length === 3)
  t.equal(answersOf(page).length, 2)
  t.equal(eventsOf(page).filter(one => one === 'accesses').length, 3)
  t.notOk(page.hasEnded(), 'the session goes on')
})

t.test('a machine that cannot prove its accesses answers no member', async t => {
  const lease = { isValid: true }
  const { ada, add, ben, path } = await setUpMembers(t, { isCurrent: () => lease.isValid })
  await add(BEN.email)
  lease.isValid = false
  t.match(await ben.ask(`${path}/usage`), {
    status: 503,
    json: { error: { code: 'leaseExpired' } },
  })
  t.strictSame((await ben.ask('/api/accesses')).json, { accesses: [] })
  t.match((await ben.ask('/api/overview')).json, { scopes: [] })
  t.equal((await ada.ask(`${path}/usage`)).status, 200)
  t.equal((await ben.ask('/api/accesses/acc_none/usage')).status, 404)
})

t.test('additions are limited, and long bodies, keys and other sites are refused', async t => {
  const limits = { changesBurstMax: 8, changesPerMinuteMax: 1 }
  const { accessId, ada, add, ben, dashboard, path } = await setUpMembers(t, { dashboard: limits })
  const long = await ada.call('POST', `${path}/members`, {
    email: 'a'.repeat(8 * 1024 * 1024),
    role: 'view',
  })
  t.equal(long.status, 413)
  const body = JSON.stringify({ email: BEN.email, role: 'manage' })
  const elsewhere = await ada.ask(`${path}/members`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  t.match(elsewhere, { status: 403, json: { error: { code: 'crossOrigin' } } })
  const validUntilMs = dashboard.clock.nowMs + 60_000
  const { secret } = await dashboard.accessService.makeKey(accessId, {
    ...{ label: 'bot', scopes: ['usage:read', 'token:regenerate'], validUntilMs },
  })
  for (const method of ['GET', 'POST', 'PUT']) {
    const headers = {
      authorization: `Bearer ${secret.reveal()}`,
      'content-type': 'application/json',
    }
    const answer = await ben.ask(`${path}/members`, {
      ...{ method, headers },
      ...(method === 'GET' ? {} : { body }),
    })
    t.match(answer, { status: 403, json: { error: { code: 'apiKeyRoute' } } }, method)
  }
  const counts = new Map<number, number>()
  for (let round = 0; round < 20; round++) {
    const some = Array.from({ length: 50 }, (_, at) => add(`m${round * 50 + at}@test.example`))
    for (const { status } of await Promise.all(some))
      counts.set(status, (counts.get(status) ?? 0) + 1)
  }
  t.equal(counts.get(201), 8)
  t.equal(counts.get(429), 992)
  t.equal((await ada.ask(`${path}/members`)).status, 200)
})
