import t from 'tap'
import { defaults } from '../../../src/dashboard/options.js'
import { arrive, leave, setUpSignIn } from '../../fixtures/dashboard/sign-in-steps.js'

const { recentSignInMs } = defaults

t.test('revealing and regenerating need a recent sign-in, all else does not', async t => {
  const setup = await setUpSignIn(t)
  const { client, dashboard, provider } = setup
  const { clock } = dashboard
  const { accessId } = await dashboard.grant('ada')
  const token = `/api/accesses/${accessId}/networks/main/locations/fra/token`
  const claim = (ageMs: number): void => {
    provider.fault = { claims: { auth_time: Math.floor((clock.nowMs - ageMs) / 1_000) } }
  }
  const recentUntilMs = async (): Promise<number> =>
    Object((await client.ask('/api/session')).json).recentUntilMs

  clock.nowMs = Math.ceil(clock.nowMs / 1_000) * 1_000
  claim(0)
  t.equal(await arrive(client, await leave(setup)), '/')
  const endMs = clock.nowMs + recentSignInMs
  t.equal(await recentUntilMs(), endMs)
  t.equal((await client.call('POST', token)).status, 201)
  clock.nowMs = endMs - 1
  t.equal((await client.call('POST', `${token}/reveal`)).status, 200, 'a moment before')
  t.equal((await client.call('POST', `${token}/regenerate`)).status, 200, 'a moment before')
  clock.nowMs = endMs
  for (const path of [`${token}/reveal`, `${token}/regenerate`]) {
    const { status, json } = await client.call('POST', path)
    t.equal(status, 403)
    t.match(json, { error: { code: 'signInTooOld', message: /of the last 15 min$/ } })
  }
  t.equal((await client.call('PUT', `${token}/restriction`, { address: '8.8.8.8' })).status, 200)
  t.equal((await client.call('DELETE', token)).status, 204, 'a leaked token can be revoked at once')
  t.equal((await client.call('POST', token)).status, 201)

  // The session of the provider is older than the sign-in here.
  claim(recentSignInMs)
  t.equal(await arrive(client, await leave(setup)), '/')
  t.equal((await client.call('POST', `${token}/reveal`)).status, 403, 'no password was entered')
  claim(recentSignInMs)
  t.equal(await arrive(client, await leave(setup, '/sign-in?prompt=login')), '/?sign-in=stale')
  t.equal((await client.call('POST', `${token}/reveal`)).status, 403, 'and the session goes on')
  claim(0)
  t.equal(await arrive(client, await leave(setup, '/sign-in?prompt=login')), '/')
  t.equal((await client.call('POST', `${token}/reveal`)).status, 200)
})

t.test('without `auth_time` the time of the sign-in here counts', async t => {
  const setup = await setUpSignIn(t, { dashboard: { recentSignInMs: 60_000 } })
  const { client, dashboard } = setup
  const { accessId } = await dashboard.grant('ada')
  const token = `/api/accesses/${accessId}/networks/main/locations/fra/token`
  t.equal(await arrive(client, await leave(setup)), '/')
  t.equal((await client.call('POST', token)).status, 201)
  dashboard.clock.nowMs += 60_000
  t.equal((await client.call('POST', `${token}/reveal`)).status, 403)
  t.equal(await arrive(client, await leave(setup)), '/')
  t.equal((await client.call('POST', `${token}/reveal`)).status, 200)
})
