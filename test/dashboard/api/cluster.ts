import t from 'tap'
import { ADA, startDashboard, type TestDashboard } from '../../fixtures/dashboard/dashboard.js'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'

const signIn = async ({ url }: TestDashboard): Promise<DashboardClient> => {
  const client = new DashboardClient(url)
  await client.signIn(ADA)
  return client
}

const TOKEN = /^slt_[0-9A-Za-z]{38}$/

t.test('in a cluster a change says on which machines it is in effect', async t => {
  const machines = [
    { id: 'fra-1', by: 'confirmed' as const },
    { id: 'fra-2', by: 'lease' as const },
  ]
  const made = { revision: 7, atMs: 1_900_000_000_000, isPending: false, machines }
  let effect = made
  const dashboard = await startDashboard(t, {
    accessService: own => ({
      ...own,
      regenerate: async scope => ({ ...(await own.regenerate(scope)), effect }),
      restrict: async (scope, address) => ({ ...(await own.restrict(scope, address)), effect }),
      revoke: async scope => ({ ...(await own.revoke(scope)), effect }),
      setMemberRole: async (...to) => ({ ...(await own.setMemberRole(...to)), effect }),
      removeMember: async (...from) => ({ ...(await own.removeMember(...from)), effect }),
    }),
  })
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada')
  const token = `/api/accesses/${accessId}/networks/main/locations/fra/token`
  for (const isPending of [false, true]) {
    effect = { ...made, isPending }
    const status = isPending ? 202 : 200
    const when = isPending ? { deadByMs: made.atMs } : { deadAtMs: made.atMs }
    const shown = { revision: 7, ...when, machines }
    t.equal((await ada.call('POST', token)).status, 201)
    t.match(await ada.call('POST', `${token}/regenerate`), {
      status,
      json: { secret: TOKEN, effect: shown },
    })
    t.match(await ada.call('PUT', `${token}/restriction`, { address: '8.8.8.8' }), {
      status,
      json: { token: { address: '8.8.8.8' }, effect: shown },
    })
    const removed = await ada.call('DELETE', token)
    t.equal(removed.status, status)
    t.strictSame(removed.json, shown)
    const members = `/api/accesses/${accessId}/members`
    const member = { email: 'ben@test.example', role: 'view' }
    t.equal((await ada.call('POST', members, member)).status, 201)
    const changed = await ada.call('PUT', members, member)
    t.match(changed, { status, json: { members: [member], effect: shown } })
    const { email } = member
    t.match(await ada.call('POST', `${members}/remove`, { email }), { status, json: shown })
  }
})

t.test('the machines of a cluster are those of the locations of the access', async t => {
  const machineOf = (id: string, location: string) => ({
    id,
    location,
    slots: ['main', 'dev'].map(network => ({ network, slot: 9, lag: 1 })),
    leaseMs: 4_000,
    revision: 5,
    version: '1.0.0',
    state: 'ok',
  })
  const all = [machineOf('fra-1', 'fra'), machineOf('nyc-1', 'nyc')]
  const dashboard = await startDashboard(t, { machines: () => all })
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada', { locations: ['fra'] })
  const path = `/api/accesses/${accessId}/machines`
  const [first] = all
  t.strictSame((await ada.ask(path)).json, {
    machines: [{ ...first, slots: [{ network: 'main', slot: 9, lag: 1 }] }],
  })
  t.match((await ada.ask('/api/accesses')).json, { hasMachines: true })
  const { accessId: theirs } = await dashboard.grant('ben')
  t.equal((await ada.ask(`/api/accesses/${theirs}/machines`)).status, 404)
  const alone = await startDashboard(t)
  const own = await signIn(alone)
  const { accessId: ownId } = await alone.grant('ada')
  t.equal((await own.ask(`/api/accesses/${ownId}/machines`)).status, 404, 'without a cluster')
})
