import t from 'tap'
import { createAdministration } from '../../src/access/service.js'
import { RpcError } from '../../src/shared/errors.js'
import { NEW_ACCESS, openControl } from '../fixtures/access/access.js'

t.test('a change is stored first, then in effect, and only then answered', async t => {
  const { store, entitlement, credentials } = await openControl(t.testdir())
  const events: string[] = []
  let settle = (): void => {}
  const effect = {
    announce: () => void events.push('announced'),
    settle: () =>
      new Promise<void>(resolve => {
        events.push('settling')
        settle = resolve
      }),
  }
  const administration = createAdministration({ entitlement, credentials, effect })
  const { accessId } = await administration.grant(NEW_ACCESS)
  t.strictSame(events.splice(0), [], 'a new access has no token that an edge could know')
  const place = { accessId, network: 'main', location: 'fra' }
  const { tokenId } = await administration.generate(place)
  t.strictSame(events.splice(0), ['announced'])

  const changes: [name: string, change: () => Promise<unknown>, isStored: () => boolean][] = [
    [
      'regenerate',
      () => administration.regenerate(place),
      () => administration.list(accessId)[0]?.tokenId !== tokenId,
    ],
    [
      'restrict',
      () => administration.restrict(place, '8.8.8.8'),
      () => administration.list(accessId)[0]?.address === '8.8.8.8',
    ],
    [
      'end',
      () => administration.end(accessId),
      () => administration.find(accessId)?.endedAtMs !== null,
    ],
    [
      'extend',
      () => administration.extend(accessId, null),
      () => administration.find(accessId)?.endedAtMs === null,
    ],
    [
      'revoke',
      () => administration.revoke(place),
      () => administration.list(accessId).length === 0,
    ],
  ]
  for (const [name, change, isStored] of changes) {
    const answered = change().then(() => events.push('answered'))
    while (events.length === 0) await new Promise(resolve => setImmediate(resolve))
    t.strictSame(events, ['settling'], name)
    t.ok(isStored(), `${name}: stored before anybody is told`)
    settle()
    await answered
    t.strictSame(events.splice(0), ['settling', 'answered'], name)
  }
  t.strictSame(administration.listOf('ada'), administration.page('', 10))
  await t.rejects(administration.revoke(place), { name: 'noToken' })
  t.strictSame(events, [], 'what changed nothing tells nobody')
  await store.close()
})

t.test('what could not be confirmed is confirmed by whoever asks again', async t => {
  const { store, entitlement, credentials } = await openControl(t.testdir())
  const notConfirmed = new RpcError('notConfirmed')
  let failuresLeft = 0
  let settledCount = 0
  const effect = {
    announce: () => {},
    settle: async () => {
      if (failuresLeft-- > 0) throw notConfirmed
      settledCount++
    },
  }
  const administration = createAdministration({ entitlement, credentials, effect })
  const { accessId } = await administration.grant(NEW_ACCESS)
  const place = { accessId, network: 'main', location: 'fra' }
  await administration.generate(place)
  failuresLeft = 2
  await t.rejects(administration.revoke(place), notConfirmed)
  t.strictSame(administration.list(accessId), [], 'it is stored')
  await t.rejects(administration.revoke(place), notConfirmed, 'still not in effect')
  t.equal(settledCount, 0)
  await t.rejects(administration.revoke(place), { name: 'noToken' })
  t.equal(settledCount, 1, 'now it is')
  await t.rejects(administration.revoke(place), { name: 'noToken' })
  t.equal(settledCount, 1)
  await store.close()
})
