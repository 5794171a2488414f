import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { DashboardClient } from '../../fixtures/dashboard/dashboard-client.js'
import { statusOf } from '../../fixtures/processes/deployment.js'
import { sharedBusySandbox } from '../../fixtures/processes/shared-sandbox.js'
import { openFeed } from '../../fixtures/sandbox/sandbox.js'
import { openQuicClient, untilConnected } from '../../fixtures/server/quic.js'
import { openSocket } from '../../fixtures/server/socket.js'
import { askAdmin } from '../../fixtures/dashboard/admin.js'
import { until } from '../../fixtures/until.js'

const OVERLAP_SECONDS = 5
/** Until open connections are checked, on a busy machine. */
const CHECKED_MS = 5_000
const UNAUTHENTICATED = 16

t.test('a former token works to its second, on every transport, also after kill -9', async t => {
  const deployment = await sharedBusySandbox()
  const { dashboardUrl, identity, locations } = deployment.description
  const ben = new DashboardClient(dashboardUrl)
  const [, person] = identity.users
  if (person === undefined) throw new Error('the sandbox has no Ben')
  await ben.signIn(person)
  const { body: granted } = await askAdmin(deployment, 'POST', '/accesses', {
    subject: 'renter',
    kind: 'pass',
    product: 'node-access',
  })
  const path = `/api/accesses/${String(granted['accessId'])}/networks/sandbox/locations/fra/token`
  const secretOf = ({ json }: { readonly json: unknown }): string => String(Object(json)['secret'])
  const token = secretOf(await ben.call('POST', path))
  const urlOf = (secret: string): string => `http://127.0.0.1:${deployment.port}/${secret}`

  const socket = await openSocket(deployment.port, { path: `/${token}` })
  const quic = openQuicClient({ port: deployment.port, token, streamsMax: 1 })
  t.teardown(() => quic.close())
  await untilConnected(quic)
  const feed = openFeed(locations[0].grpcUrl, {}, token)
  t.teardown(() => feed.close())
  feed.ask({ slots: { all: {} } })
  await feed.until(({ slot }) => slot !== undefined)

  const startMs = Date.now()
  const answer = await ben.call('POST', `${path}/regenerate`, { overlapSeconds: OVERLAP_SECONDS })
  const endMs = Date.now() + OVERLAP_SECONDS * 1_000
  const next = secretOf(answer)
  t.strictSame([await statusOf(urlOf(token)), await statusOf(urlOf(next))], [200, 200])
  await feed.until(({ slot }) => slot !== undefined)
  t.match(await socket.call('getHealth'), { result: 'ok' })
  t.ok(quic.state().isConnected)
  const [control] = deployment.pidsOf('control')
  if (control !== undefined) process.kill(control, 'SIGKILL')
  t.equal(await statusOf(urlOf(token)), 200, 'without control too')
  t.ok(Date.now() < startMs + OVERLAP_SECONDS * 1_000, 'the machine was fast enough')

  await sleep(endMs - Date.now())
  t.strictSame([await statusOf(urlOf(token)), await statusOf(urlOf(next))], [401, 200])
  t.match(await socket.closed, { code: 1008, reason: 'token revoked' })
  t.match(await feed.ended(), { code: UNAUTHENTICATED, details: 'No valid auth token' })
  await until('QUIC has ended', () => !quic.state().isConnected || quic.state().isClosed)
  t.ok(Date.now() < endMs + CHECKED_MS, `${Date.now() - endMs} ms after it`)
})
