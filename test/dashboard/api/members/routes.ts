import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADA, BEN } from '../../../fixtures/dashboard/dashboard.js'
import { answersOf, openStream, watchOf } from '../../../fixtures/dashboard/event-page.js'
import { CYD, setUpMembers } from '../../../fixtures/dashboard/members.js'
import { ownDir } from '../../../fixtures/own-dir.js'
import { until } from '../../../fixtures/until.js'

type Accesses = {
  readonly accesses: readonly { readonly accessId: string; readonly role: string }[]
}

t.test('a member is added, has a role, gets another one and is removed', async t => {
  const dataDir = ownDir(t)
  const setup = await setUpMembers(t, { dataDir })
  const { accessId, ada, add, ben, dashboard, leave, path, remove, scope, setRole, token } = setup
  const own = await dashboard.grant('ben')
  const roles = async () =>
    ((await ben.ask('/api/accesses')).json as Accesses).accesses.map(one => [
      one.accessId,
      one.role,
    ])
  const scopes = async () =>
    Object((await ben.ask('/api/overview')).json).scopes.filter(
      (scope: { readonly accessId: string }) => scope.accessId === accessId,
    ).length
  t.strictSame((await ada.ask(`${path}/members`)).json, { members: [] })
  t.strictSame(await roles(), [[own.accessId, 'owner']])
  t.equal(await scopes(), 0)
  t.equal((await ben.ask(`${path}/usage`)).status, 404)

  const addedAtMs = dashboard.clock.nowMs
  const added = await add('BEN@Test.example')
  const members = [{ email: BEN.email, role: 'view', addedAtMs }]
  t.match(added, { status: 201 })
  t.strictSame(added.json, { members })
  t.strictSame(await roles(), [
    [own.accessId, 'owner'],
    [accessId, 'view'],
  ])
  t.equal(await scopes(), 2)
  t.strictSame((await ben.ask(`${path}/members`)).json, { members }, 'members see each other')
  t.equal((await ben.ask(`${path}/usage`)).status, 200)
  const panel = `${path}/networks/main/locations/fra`
  const masked = await ben.ask(panel)
  t.match(masked, { status: 200, json: { token: { masked: /••••/ } } })
  t.notOk(masked.text.includes(token.reveal()))
  const reveal = () => ben.call('POST', `${panel}/token/reveal`, {})
  t.match(await reveal(), {
    status: 403,
    json: {
      error: {
        code: 'accessRole',
        message: 'Your role in this access is view, and this needs manage',
      },
    },
  })
  t.match(await ben.ask(`${path}/webhooks`), {
    status: 403,
    json: { error: { code: 'accessRole' } },
  })

  const changed = await setRole(BEN.email, 'manage')
  t.equal(changed.status, 200)
  t.strictSame(changed.json, { members: [{ email: BEN.email, role: 'manage', addedAtMs }] })
  t.match(await reveal(), { status: 200, json: { token: token.reveal() } })
  t.equal((await ben.ask(`${path}/webhooks`)).status, 200)
  const restricted = { address: '8.8.8.8' }
  t.equal((await ben.call('PUT', `${panel}/token/restriction`, restricted)).status, 200)

  t.equal((await remove('Ben@TEST.example')).status, 204)
  t.strictSame(await roles(), [[own.accessId, 'owner']])
  t.equal(await scopes(), 0)
  for (const answer of [await ben.ask(`${path}/usage`), await reveal()])
    t.match(answer, { status: 404, json: { error: { code: 'noSuchAccess' } } })
  t.match(await remove(BEN.email), { status: 404, json: { error: { code: 'noSuchMember' } } })
  t.match(await setRole(BEN.email, 'view'), {
    status: 404,
    json: { error: { code: 'noSuchMember' } },
  })
  t.equal(dashboard.accessService.list(scope.accessId)[0]?.address, '8.8.8.8')

  t.match(await leave(), { status: 404, json: { error: { code: 'noSuchAccess' } } })
  await add(BEN.email, 'view')
  const { page } = await openStream(t, dashboard, ben, watchOf([`${path}/usage`]))
  await until('an answer', () => answersOf(page).length > 0)
  t.strictSame((await leave()).json, { email: BEN.email })
  for (const answer of [await ben.ask(`${path}/usage`), await leave()])
    t.match(answer, { status: 404, json: { error: { code: 'noSuchAccess' } } })
  t.strictSame(await roles(), [[own.accessId, 'owner']])
  await until('the open page has no answers of it', () => /watching\ndata: \[\]/.test(page.text()))
  t.match(await ada.call('POST', `${path}/members/leave`, {}), {
    status: 404,
    json: { error: { code: 'noSuchMember' } },
  })

  const audit = readdirSync(join(dataDir, 'audit'))
    .map(name => readFileSync(join(dataDir, 'audit', name), 'utf8'))
    .join('')
  const entry = (action: string, by: string, more: string) =>
    `"action":"${action}","by":"${by}","from":"127.0.0.1","accessId":"${accessId}"${more}`
  for (const expected of [
    entry('add-member', 'ada', ',"request":{"email":"BEN@Test.example","role":"view"}'),
    entry('set-member-role', 'ada', `,"request":{"email":"${BEN.email}","role":"manage"}`),
    entry('remove-member', 'ada', ',"request":{"email":"Ben@TEST.example"}'),
    entry('leave-access', 'ben', `,"request":{"email":"${BEN.email}"}`),
    entry('reveal', 'ben', ',"network":"main","location":"fra"'),
    entry('restrict', 'ben', ',"network":"main","location":"fra"'),
  ])
    t.ok(audit.includes(expected), expected)
  t.equal(audit.split('"action":"reveal"').length, 2, 'what was refused is no entry')
})

t.test('what may be added, how many, and after which sign-in', async t => {
  const { accessId, add, dashboard } = await setUpMembers(t)
  const cases: readonly (readonly [email: unknown, role: unknown, status: number, code: string])[] =
    [
      ...['', 'ben', '@', 'a@b@c', ' ben@test.example', 'ben@test.example\n', 'b\u200bn@c.d'].map(
        email => [email, 'view', 400, 'wrongInput'] as const,
      ),
      [`${'a'.repeat(250)}@b.cd`, 'view', 400, 'wrongInput'],
      [`${'é'.repeat(125)}@b.cd`, 'view', 400, 'wrongInput'],
      [undefined, 'view', 400, 'wrongInput'],
      [['ben@test.example'], 'view', 400, 'wrongInput'],
      ['ben@test.example', 'owner', 400, 'wrongInput'],
      ['ben@test.example', null, 400, 'wrongInput'],
      ['ADA@test.example', 'view', 409, 'memberIsOwner'],
      ['ben@test.example', 'view', 201, ''],
      ['Ben@Test.Example', 'manage', 409, 'memberExists'],
      [`${'a'.repeat(249)}@b.cd`, 'manage', 201, ''],
    ]
  for (const [email, role, status, code] of cases) {
    const answer = await add(email, role)
    const name = `${JSON.stringify(email)?.slice(0, 40)} ${role}`
    t.strictSame([answer.status, Object(answer.json).error?.code ?? ''], [status, code], name)
  }
  const more = await Promise.all(Array.from({ length: 20 }, (_, at) => add(`m${at}@test.example`)))
  t.equal(more.filter(({ status }) => status === 201).length, 14, 'at once')
  t.match(await add('one@test.example'), {
    status: 409,
    json: {
      error: { code: 'membersFull', message: 'This access has 16 members: remove one first' },
    },
  })
  t.equal(dashboard.accessService.find(accessId)?.members?.length, 16)
  dashboard.clock.nowMs += 16 * 60_000
  t.match(await add('one@test.example'), { status: 403, json: { error: { code: 'signInTooOld' } } })
})

t.test('a person whose address is not verified is a member of nothing', async t => {
  const { add, dashboard, open, path } = await setUpMembers(t)
  t.equal((await add(CYD.email, 'manage')).status, 201)
  const cyd = await open(CYD)
  t.match((await cyd.ask('/api/session')).json, { email: CYD.email, isEmailVerified: false })
  t.strictSame((await cyd.ask('/api/accesses')).json, { accesses: [] })
  t.equal((await cyd.ask(`${path}/members`)).status, 404)
  const again = await open({ ...ADA })
  t.match((await again.ask('/api/session')).json, { isEmailVerified: true })
  t.match(
    Array.from(
      dashboard.store.sessions.from(new Uint8Array()),
      ([, one]) => one.verifiedEmail,
    ).toSorted(),
    ['', 'ada@test.example', 'ada@test.example', 'ben@test.example'],
  )
})
