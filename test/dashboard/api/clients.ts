import t from 'tap'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import {
  ADA,
  BEN,
  NO_ACCESS_USAGE,
  NO_PLACE_USAGE,
  startDashboard,
  type TestDashboard,
} from '../../fixtures/dashboard/dashboard.js'

const signIn = async ({ url }: TestDashboard, person = ADA): Promise<DashboardClient> => {
  const client = new DashboardClient(url)
  await client.signIn(person)
  return client
}

t.test('clients are those of the place, with what a restriction means for each', async t => {
  const clients = [
    { address: '198.51.100.7', lastSeenMs: 2_000 },
    { address: '8.8.8.8', lastSeenMs: 1_000 },
  ]
  const dashboard = await startDashboard(t, {
    usage: {
      ...NO_PLACE_USAGE,
      ofScope: () => ({ minutes: [], refused: [], replaced: [], clients, missing: ['fra2'] }),
      ofAccess: () => NO_ACCESS_USAGE,
    },
  })
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada')
  const path = `/api/accesses/${accessId}/networks/main/locations/fra/clients`
  const marked = (refused: readonly boolean[]) => ({
    clients: clients.map(({ address, lastSeenMs }, index) => ({
      address,
      lastSeenMs,
      isRefused: refused[index],
    })),
    missing: ['fra2'],
  })
  t.strictSame((await ada.ask(path)).json, marked([false, false]), 'no restriction')
  t.strictSame((await ada.ask(`${path}?address=+`)).json, marked([false, false]), 'a blank one')
  t.strictSame((await ada.ask(`${path}?address=8.8.8.8`)).json, marked([true, false]))
  t.match(await ada.ask(`${path}?address=10.0.0.1`), {
    status: 422,
    json: { error: { code: 'notPublicIpv4' } },
  })
  const ben = await signIn(dashboard, BEN)
  t.equal((await ben.ask(path)).status, 404)
})

t.test(
  'the address of a browser is that of the connection, or what a trusted proxy says',
  async t => {
    const forwarded = { headers: { 'x-forwarded-for': '8.8.4.4, 8.8.8.8' } }
    const direct = await signIn(await startDashboard(t))
    const own = { address: '127.0.0.1', isRestrictable: false }
    t.strictSame((await direct.ask('/api/address', forwarded)).json, own, 'no proxy is trusted')
    const proxied = await signIn(await startDashboard(t, { trustedProxies: ['127.0.0.1'] }))
    t.strictSame((await proxied.ask('/api/address', forwarded)).json, {
      address: '8.8.8.8',
      isRestrictable: true,
    })
    t.strictSame((await proxied.ask('/api/address')).json, own, 'the proxy says nothing')
    const wrong = { headers: { 'x-forwarded-for': '2001:db8::1' } }
    t.strictSame((await proxied.ask('/api/address', wrong)).json, {
      address: '2001:db8::1',
      isRestrictable: false,
    })
    t.equal((await new DashboardClient(proxied.dashboardUrl).ask('/api/address')).status, 401)
  },
)

t.test('locations are those of the access, with slots of its networks', async t => {
  const dashboard = await startDashboard(t)
  const ada = await signIn(dashboard)
  const { accessId } = await dashboard.grant('ada')
  const slots = [{ network: 'main', slot: 7, lag: null }]
  t.strictSame((await ada.ask(`/api/accesses/${accessId}/locations`)).json, {
    locations: [
      { id: 'fra', url: 'https://fra.rpc.example', state: 'behind', slots },
      { id: 'nyc', url: 'http://127.0.0.1:2', state: 'behind', slots },
    ],
  })
  const ben = await signIn(dashboard, BEN)
  t.equal((await ben.ask(`/api/accesses/${accessId}/locations`)).status, 404)
})
