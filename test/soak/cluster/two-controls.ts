// Two machines of a cluster that may both change accesses.
import { openEtcd, withoutEtcd } from '../../fixtures/cluster/etcd.js'
import { prepareMachine, tokenPath } from '../../fixtures/cluster/machine.js'
import { startTwoControls } from '../../fixtures/cluster/two-controls.js'
import { until } from '../../fixtures/until.js'
import { soakTest } from '../../fixtures/soak.js'

const ROUNDS = 10
const GRANT = { subject: 'ada', product: 'node', kind: 'pass' }

soakTest('two controls', { skip: withoutEtcd, timeout: 120_000 }, async t => {
  const etcd = await openEtcd(t, 1)
  const one = await prepareMachine(t, etcd, { id: 'fra-1', location: 'fra' })
  const other = await prepareMachine(t, etcd, { id: 'fra-2', location: 'fra' })
  const both = [one, other] as const
  const service = await startTwoControls(t, etcd, both)
  const { body } = await one.admin('POST', '/accesses', GRANT)
  const path = tokenPath(String(body['accessId']), 'fra')
  t.equal((await other.admin('POST', path)).status, 201, 'the other one knows it at once')

  await t.test('of two changes at once each is made, one after the other', async t => {
    for (let round = 0; round < ROUNDS; round++) {
      const made = await Promise.all(both.map(({ admin }) => admin('POST', `${path}/regenerate`)))
      t.strictSame(
        made.map(({ status }) => status),
        [200, 200],
      )
      const tokens = made.map(answer => String(answer.body['token']))
      for (const machine of both) {
        const statuses = await Promise.all(tokens.map(token => machine.status(token)))
        t.strictSame(statuses.toSorted(), [200, 401], `one token works at ${machine.id}`)
        const revealed = await machine.admin('POST', `${path}/reveal`)
        t.equal(revealed.body['token'], tokens[statuses.indexOf(200)])
      }
    }
  })

  await t.test('one goes on where the other one is killed during a change', async t => {
    const before = await other.admin('POST', `${path}/reveal`)
    const cut = one.admin('POST', `${path}/regenerate`).catch(() => undefined)
    for (const pid of service.pidsOf('control')) process.kill(pid, 'SIGKILL')
    await cut
    const { status, body } = await other.admin('POST', `${path}/regenerate`)
    t.equal(status, 200)
    const token = String(body['token'])
    for (const machine of both) {
      t.equal(await machine.status(token), 200)
      t.equal(await machine.status(String(before.body['token'])), 401)
    }
    await until('the killed one is back', async () => {
      const { body } = await one.admin('POST', `${path}/reveal`).catch(() => ({ body: {} }))
      return (body as Record<string, unknown>)['token'] === token
    })
  })
})
