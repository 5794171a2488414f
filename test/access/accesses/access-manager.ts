import t from 'tap'
import { endOf, stateOf } from '../../../src/access/accesses/access-manager.js'
import { NEW_ACCESS, NOW_MS, openControl } from '../../fixtures/access/access.js'

t.test('an access is found by its id and by its subject, after a restart too', async t => {
  const dir = t.testdir()
  const before = await openControl(dir)
  t.strictSame(before.accessManager.listOf('ada'), [])
  const first = await before.accessManager.grant(NEW_ACCESS)
  const second = await before.accessManager.grant({ ...NEW_ACCESS, subject: 'ben', kind: 'rental' })
  await before.store.close()

  const { store, accessManager } = await openControl(dir)
  t.match(first, { ...NEW_ACCESS, createdAtMs: NOW_MS, endedAtMs: null })
  t.match(first.accessId, /^acc_[0-9A-Za-z]{12}$/)
  t.strictSame(accessManager.find(first.accessId), first)
  t.strictSame(accessManager.listOf('ben'), [second])
  t.equal(accessManager.find('acc_none'), undefined)
  await store.close()
})

t.test('an access ends at its end time, or earlier by request', async t => {
  const { store, accessManager } = await openControl(t.testdir())
  const access = await accessManager.grant(NEW_ACCESS)
  const cases: [validUntilMs: number | null, endedAtMs: number | null, endMs: number][] = [
    [null, null, Infinity],
    [5, null, 5],
    [null, 4, 4],
    [5, 4, 4],
    [4, 5, 4],
  ]
  for (const [validUntilMs, endedAtMs, endMs] of cases)
    t.equal(endOf({ ...access, validUntilMs, endedAtMs }), endMs)
  await store.close()
})

t.test('an access is extended, ended and extended again', async t => {
  let nowMs = NOW_MS
  const { store, accessManager } = await openControl(t.testdir(), () => nowMs)
  const { accessId } = await accessManager.grant({ ...NEW_ACCESS, validUntilMs: NOW_MS + 10 })
  const state = () => {
    const access = accessManager.find(accessId)
    return access && stateOf(access, nowMs)
  }
  t.equal(state(), 'active')
  nowMs = NOW_MS + 10
  t.equal(state(), 'ended', 'by its time')
  t.match(await accessManager.extend(accessId, nowMs + 1), { validUntilMs: nowMs + 1 })
  t.equal(state(), 'active')
  t.match(await accessManager.end(accessId), { endedAtMs: nowMs })
  t.equal(state(), 'ended', 'by hand')
  nowMs -= 20
  t.equal(state(), 'ended', 'a clock that was set back does not bring it to life')
  t.match(await accessManager.end(accessId), { endedAtMs: NOW_MS + 10 }, 'ended once')
  t.match(await accessManager.extend(accessId, null), { validUntilMs: null, endedAtMs: null })
  t.equal(state(), 'upcoming', 'where the clock is before its begin')
  nowMs = NOW_MS
  t.equal(state(), 'active')
  await t.rejects(accessManager.extend(accessId, nowMs), { name: 'endPassed' })
  await t.rejects(accessManager.extend('acc_none', null), { name: 'noSuchAccess' })
  await t.rejects(accessManager.end('acc_none'), { name: 'noSuchAccess' })
  t.strictSame(
    accessManager.page('', 10).map(access => access.accessId),
    [accessId],
  )
  await store.close()
})

t.test('an amended access keeps the tokens of what it still has', async t => {
  const { close, accessManager, tokenManager } = await openControl(t.testdir())
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  const scopes = ['main', 'dev'].flatMap(network =>
    ['fra', 'nyc'].map(location => ({ accessId, network, location })),
  )
  for (const scope of scopes) await tokenManager.generate(scope)
  const [main] = scopes
  if (main === undefined) throw new Error('no scope')
  const secret = (await tokenManager.reveal(main))?.reveal()
  await tokenManager.restrict(main, '8.8.8.8')
  const list = () =>
    tokenManager.list(accessId).map(({ network, location }) => `${network} ${location}`)
  const amended = await accessManager.amend(accessId, access => ({
    ...access,
    label: 'ACME',
    networks: ['main'],
    locations: ['fra', 'sin'],
  }))
  t.match(amended, { label: 'ACME', networks: ['main'], locations: ['fra', 'sin'] })
  t.strictSame(accessManager.find(accessId), amended)
  t.strictSame(list(), ['main fra'])
  t.equal((await tokenManager.reveal(main))?.reveal(), secret)
  t.match(tokenManager.list(accessId), [{ address: '8.8.8.8' }])
  await tokenManager.generate({ ...main, location: 'sin' })
  await accessManager.amend(accessId, access => ({
    ...access,
    networks: ['main', 'dev'],
    locations: ['fra', 'nyc'],
  }))
  t.strictSame(list(), ['main fra'], 'what comes back has no token')
  await t.rejects(
    accessManager.amend('acc_none', access => access),
    { name: 'noSuchAccess' },
  )
  await close()
})

t.test('an invalid access is not stored', async t => {
  const { store, accessManager } = await openControl(t.testdir())
  await t.rejects(accessManager.grant({ ...NEW_ACCESS, validFromMs: -1 }))
  await t.rejects(accessManager.grant({ ...NEW_ACCESS, validUntilMs: NOW_MS - 1 }), {
    name: 'endPassed',
  })
  await t.rejects(accessManager.grant({ ...NEW_ACCESS, networks: [''] }))
  t.strictSame(accessManager.listOf('ada'), [])
  await store.close()
})

t.test('pages contain each access once, in the order of ids', async t => {
  const { store, accessManager } = await openControl(t.testdir())
  const ids: string[] = []
  for (let count = 0; count < 7; count++) ids.push((await accessManager.grant(NEW_ACCESS)).accessId)
  ids.sort()
  for (const countMax of [1, 2, 7, 8]) {
    const seen: string[] = []
    for (;;) {
      const page = accessManager.page(seen.at(-1) ?? '', countMax)
      if (page.length === 0) break
      t.ok(page.length <= countMax)
      seen.push(...page.map(({ accessId }) => accessId))
    }
    t.strictSame(seen, ids, `${countMax} in a page`)
  }
  await store.close()
})
