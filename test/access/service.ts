import t from 'tap'
import { createAccessService } from '../../src/access/service.js'
import type { Access } from '../../src/access/store/tables.js'
import { RpcError } from '../../src/shared/errors.js'
import { NEW_ACCESS, openControl } from '../fixtures/access/access.js'

t.test('a change is stored, then applied, then answered', async t => {
  const { store, accessManager, tokenManager } = await openControl(t.testdir())
  const events: string[] = []
  let awaitAcknowledged = (): void => {}
  const notifier = {
    announce: async () => void events.push('announced'),
    awaitAcknowledged: () =>
      new Promise<void>(resolve => {
        events.push('settling')
        awaitAcknowledged = resolve
      }),
  }
  const accessService = createAccessService({ accessManager, tokenManager, notifier })
  const { accessId } = await accessService.grant(NEW_ACCESS)
  t.strictSame(events.splice(0), [], 'a new access has no token that an edge could know')
  const scope = { accessId, network: 'main', location: 'fra' }
  const { tokenId } = await accessService.generate(scope)
  t.strictSame(events.splice(0), ['announced'])

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
  await t.rejects(accessService.revoke(scope), { name: 'noToken' })
  t.strictSame(events, [], 'a call that changes nothing notifies no edge')
  await store.close()
})

t.test('a retry confirms an unconfirmed change', async t => {
  const { store, accessManager, tokenManager } = await openControl(t.testdir())
  const notConfirmed = new RpcError('notConfirmed')
  let failuresLeft = 0
  let settledCount = 0
  const notifier = {
    announce: async () => {},
    awaitAcknowledged: async () => {
      if (failuresLeft-- > 0) throw notConfirmed
      settledCount++
    },
  }
  const accessService = createAccessService({ accessManager, tokenManager, notifier })
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
  await t.rejects(accessService.revoke(scope), { name: 'noToken' })
  t.equal(settledCount, 1)
  await store.close()
})

t.test('a retry after a restart waits for what was not acknowledged before it', async t => {
  const { close, accessManager, tokenManager } = await openControl(t.testdir())
  const settled: (readonly string[])[] = []
  const notifier = {
    announce: async () => {},
    awaitAcknowledged: async (locations: readonly string[]) => void settled.push(locations),
  }
  const accessService = createAccessService({
    accessManager,
    tokenManager,
    notifier,
    locations: ['fra', 'nyc'],
  })
  const { accessId } = await accessService.grant(NEW_ACCESS)
  const scope = { accessId, network: 'main', location: 'fra' }
  await t.rejects(accessService.revoke(scope), { name: 'noToken' })
  t.strictSame(settled.splice(0), [['fra', 'nyc']])
  await t.rejects(accessService.revoke(scope), { name: 'noToken' })
  t.strictSame(settled, [], 'once')
  await accessService.end(accessId)
  t.strictSame(settled, [NEW_ACCESS.locations], 'every location of the access')
  await close()
})

t.test('an amendment waits for the locations that it removes, also when retried', async t => {
  const { close, accessManager, tokenManager } = await openControl(t.testdir())
  const settled: (readonly string[])[] = []
  let failure: RpcError | undefined
  const notifier = {
    announce: async () => {},
    awaitAcknowledged: async (locations: readonly string[]) => {
      if (failure !== undefined) throw failure
      settled.push(locations)
    },
  }
  const unsure = {
    ...accessManager,
    amend: async (...given: Parameters<typeof accessManager.amend>) => {
      await accessManager.amend(...given)
      throw new RpcError('changeUnknown')
    },
  }
  const common = { tokenManager, notifier }
  const accessService = createAccessService({ accessManager, ...common })
  const { accessId } = await accessService.grant(NEW_ACCESS)
  const only = (location: string) => (access: Access) => ({ ...access, locations: [location] })
  failure = new RpcError('notConfirmed')
  await t.rejects(accessService.amend(accessId, only('fra')), failure)
  t.strictSame(accessService.find(accessId)?.locations, ['fra'], 'it is stored')
  failure = undefined
  await accessService.amend(accessId, only('fra'))
  t.strictSame(settled.splice(0), [['fra', 'nyc']])
  await accessService.amend(accessId, only('nyc'))
  t.strictSame(settled.splice(0), [['fra', 'nyc']], 'those before and after')

  const unsureService = createAccessService({ accessManager: unsure, ...common })
  await t.rejects(unsureService.amend(accessId, only('fra')), { name: 'changeUnknown' })
  t.strictSame(settled.splice(0), [], 'what may not be stored is not waited for')
  await t.rejects(unsureService.revoke({ accessId, network: 'main', location: 'fra' }), {
    name: 'noToken',
  })
  t.strictSame(settled, [['nyc', 'fra']])
  await close()
})
