import t from 'tap'
import { createAuthenticate } from '../../src/access/authenticate.js'
import { openReader } from '../../src/access/store/store.js'
import { createAdmit } from '../../src/edge/admission.js'
import { SocketGroup } from '../../src/edge/websocket/group.js'
import type { Request } from '../../src/shared/http.js'
import { createLog } from '../../src/shared/log.js'
import { NEW_ACCESS, NOW_MS, openControl, openUsageLimiter } from '../fixtures/access/access.js'
import { usageIn } from '../fixtures/usage/usage.js'

t.test('a refused request is counted once, a revalidated WebSocket never', async t => {
  const dir = t.testdir()
  const control = await openControl(dir)
  const { accessId } = await control.accessManager.grant(NEW_ACCESS)
  const scope = { accessId, network: 'main', location: 'fra' }
  const token = (await control.tokenManager.generate(scope)).token.reveal()
  const reader = await openReader(dir)
  t.teardown(async () => {
    await reader.close()
    await control.store.close()
  })
  const errors: string[] = []
  let version = 1
  const parts = {
    authenticate: createAuthenticate(reader, () => version),
    version: () => version,
    limiter: openUsageLimiter(dir),
    now: () => NOW_MS,
    onRefusal: (error: string) => errors.push(error),
  }
  const request = { address: '192.0.2.1' } as Request
  const admit = createAdmit({ ...parts, location: 'nyc' })
  const usage = usageIn(dir, () => NOW_MS)
  const refusedCount = async () => (await usage.ofScope(scope)).refused.length
  t.match(admit(token, request), { status: 401 })
  t.equal(await refusedCount(), 1)
  t.match(createAdmit({ ...parts, location: 'fra' })(token, request), { accessId })
  for (const text of ['', 'x'.repeat(1_000_000), `${token} `, token.slice(1)])
    t.match(admit(text, request), { status: 401 }, 'could not be a token')

  const log = createLog('test', () => {})
  t.match(admit(token, request), { status: 401 })
  t.equal(await refusedCount(), 2)
  const opened = createAdmit({ ...parts, location: 'fra' })(token, request)
  if (!('accessId' in opened)) throw new Error('not admitted')
  const group = new SocketGroup(
    { ...parts, location: 'fra', log },
    { token, ...request, grant: opened, version },
  )
  await control.tokenManager.revoke(scope)
  version++
  t.equal(group.revalidateOrClose(NOW_MS), false)
  t.equal(await refusedCount(), 2)
  version = Number.NaN
  t.match(admit(token, request), { status: 503 })
  t.equal(await refusedCount(), 2, 'nothing is known of the token')
  t.strictSame(errors, [...Array<string>(6).fill('unauthorized'), 'leaseExpired'])
})
