import t from 'tap'
import { createAccessService, type ChangeEffect } from '../../src/access/service.js'
import type { Access } from '../../src/access/store/tables.js'
import { RpcError } from '../../src/shared/errors.js'
import { NEW_ACCESS, openControl } from '../fixtures/access/access.js'

const SETTINGS = { locations: ['fra', 'nyc', 'ams'], now: Date.now }
const BEN = 'ben@test.example'

t.test('a change is stored, then applied, then answered', async t => {
  const { store, accessManager, tokenManager, keyManager } = await openControl(t.testdir())
  const events: string[] = []
  let awaitAcknowledged = (): void => {}
  const notifier = {
    announce: async () => void events.push('announced'),
    settle: async () => {},
    awaitAcknowledged: () =>
      new Promise<void>(resolve => {
        events.push('settling')
        awaitAcknowledged = resolve
      }),
  }
  const accessService = createAccessService({
    ...SETTINGS,
    accessManager,
    tokenManager,
    keyManager,
    notifier,
  })
  const { accessId } = await accessService.grant(NEW_ACCESS)
  t.strictSame(events.splice(0), [], 'a new access has no token that an edge could know')
  const scope = { accessId, network: 'main', location: 'fra' }
  const { tokenId } = await accessService.generate(scope)
  t.strictSame(events.splice(0), ['announced'])
  await accessService.addMember(accessId, BEN, 'manage')
  t.strictSame(events.splice(0), [], 'members are nothing to edges')

  const changes: [name: string, change: () => Promise<unknown>, isStored: () => boolean][] = [
    [
      'regenerate',
      () => accessService.regenerate(scope),
      () => accessService.list(accessId)[0]?.tokenId !== tokenId,
    ],
    [
      'restrict',
      () => accessService.restrict(scope, '8.8.8.8'),
      () => accessService.list(accessId)[0]?.address === '8.8.8.8',
    ],
    [
      'end',
      () => accessService.end(accessId),
      () => accessService.find(accessId)?.endedAtMs !== null,
    ],
    [
      'extend',
      () => accessService.extend(accessId, null),
      () => accessService.find(accessId)?.endedAtMs === null,
    ],
    ['revoke', () => accessService.revoke(scope), () => accessService.list(accessId).length === 0],
    [
      'a lesser role',
      () => accessService.setMemberRole(accessId, BEN, 'view'),
      () => accessService.find(accessId)?.members?.[0]?.role === 'view',
    ],
    [
      'removal',
      () => accessService.removeMember(accessId, BEN),
      () => accessService.find(accessId)?.members?.length === 0,
    ],
  ]
  for (const [name, change, isStored] of changes) {
    const answered = change().then(() => events.push('answered'))
    while (events.length === 0) await new Promise(resolve => setImmediate(resolve))
    t.strictSame(events, ['settling'], name)
    t.ok(isStored(), `${name}: stored before edges are notified`)
    awaitAcknowledged()
    await answered
    t.strictSame(events.splice(0), ['settling', 'answered'], name)
  }
  t.strictSame(accessService.listOf('ada'), accessService.page('', 10))
  await t.rejects(accessService.restrict(scope, 'x'), { name: 'notPublicIpv4' })
  t.strictSame(events, [], 'a call that changes nothing notifies no edge')
  await store.close()
})

t.test('a retry confirms an unconfirmed change', async t => {
  const { store, accessManager, tokenManager, keyManager } = await openControl(t.testdir())
  const notConfirmed = new RpcError('notConfirmed')
  let failuresLeft = 0
  let settledCount = 0
  const notifier = {
    announce: async () => {},
    settle: async () => {},
    awaitAcknowledged: async () => {
      if (failuresLeft-- > 0) throw notConfirmed
      settledCount++
    },
  }
  const accessService = createAccessService({
    ...SETTINGS,
    accessManager,
    tokenManager,
    keyManager,
    notifier,
  })
  const { accessId } = await accessService.grant(NEW_ACCESS)
  const scope = { accessId, network: 'main', location: 'fra' }
  await accessService.generate(scope)
  failuresLeft = 2
  await t.rejects(accessService.revoke(scope), notConfirmed)
  t.strictSame(accessService.list(accessId), [], 'it is stored')
  await t.rejects(accessService.revoke(scope), notConfirmed, 'still not in effect')
  t.equal(settledCount, 0)
  await t.rejects(accessService.revoke(scope), { name: 'noToken' })
  t.equal(settledCount, 1, 'now it is')
  await accessService.addMember(accessId, BEN, 'view')
  failuresLeft = 1
  await t.rejects(accessService.removeMember(accessId, BEN), notConfirmed)
  await t.rejects(accessService.removeMember(accessId, BEN), { name: 'noSuchMember' })
  t.equal(settledCount, 2, 'and so is a removal')
  await store.close()
})

t.test(
  'a token that is found gone was perhaps revoked elsewhere: its location is awaited',
  async t => {
    const { close, accessManager, tokenManager, keyManager } = await openControl(t.testdir())
    const settled: (readonly string[])[] = []
    let effect: ChangeEffect | undefined
    const notifier = {
      announce: async () => {},
      settle: async () => {},
      awaitAcknowledged: async (locations: readonly string[]) => {
        settled.push(locations)
        return effect
      },
    }
    const accessService = createAccessService({
      ...SETTINGS,
      accessManager,
      tokenManager,
      keyManager,
      notifier,
    })
    const { accessId } = await accessService.grant(NEW_ACCESS)
    const scope = { accessId, network: 'main', location: 'fra' }
    const retries = [
      () => accessService.revoke(scope),
      () => accessService.regenerate(scope),
      () => accessService.restrict(scope, '8.8.8.8'),
    ]
    for (const retry of retries) {
      await t.rejects(retry(), { name: 'noToken' })
      t.strictSame(settled.splice(0), [['fra']])
    }
    const atMs = Date.now() + 100
    effect = { revision: 1, atMs, isPending: true, machines: [] }
    await t.rejects(accessService.revoke(scope), { name: 'noToken' })
    t.ok(Date.now() >= atMs - 1, 'once the lease of the last machine has ended')
    await close()
  },
)

t.test('a change of an access waits for every location: one that it lost may not know', async t => {
  const { close, accessManager, tokenManager, keyManager } = await openControl(t.testdir())
  const settled: (readonly string[])[] = []
  let failure: RpcError | undefined
  const notifier = {
    announce: async () => {},
    settle: async () => {},
    awaitAcknowledged: async (locations: readonly string[]) => {
      if (failure !== undefined) throw failure
      settled.push(locations)
    },
  }
  const accessService = createAccessService({
    ...SETTINGS,
    accessManager,
    tokenManager,
    keyManager,
    notifier,
  })
  const { accessId } = await accessService.grant(NEW_ACCESS)
  const only = (location: string) => (access: Access) => ({ ...access, locations: [location] })
  failure = new RpcError('notConfirmed')
  await t.rejects(accessService.amend(accessId, only('fra')), failure)
  t.strictSame(accessService.find(accessId)?.locations, ['fra'], 'it is stored')
  failure = undefined
  const changes = [
    () => accessService.amend(accessId, only('fra')),
    () => accessService.end(accessId),
    () => accessService.extend(accessId, null),
  ]
  for (const change of changes) {
    await change()
    t.strictSame(settled.splice(0), [SETTINGS.locations])
  }
  const lost = new RpcError('changeUnknown')
  const unsure = { ...accessManager, end: () => Promise.reject(lost) }
  const parts = { ...SETTINGS, accessManager: unsure, tokenManager, keyManager, notifier }
  await t.rejects(createAccessService(parts).end(accessId), lost)
  t.strictSame(settled, [], 'what may not be stored is not waited for')
  await close()
})
