import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createAccessManager } from '../../../src/access/accesses/access-manager.js'
import { createCheckedJournal, runFor } from '../../../src/access/journal/checked-journal.js'
import { demandRole, foldEmail, roleOf } from '../../../src/access/members/members.js'
import { openReader } from '../../../src/access/store/store.js'
import type { StoredAccess } from '../../../src/access/store/tables.js'
import { NEW_ACCESS, NOW_MS, openControl } from '../../fixtures/access/access.js'

const BEN = { subject: 'ben', verifiedEmail: 'ben@test.example' }
const STRANGER = { subject: 'cyd', verifiedEmail: '' }

t.test('addresses are compared byte by byte, but for A to Z', t => {
  const long = `${'a'.repeat(249)}@b.cd`
  const cases: readonly (readonly [text: string, folded: string | undefined])[] = [
    ['ben@test.example', 'ben@test.example'],
    ['BEN@Test.Example', 'ben@test.example'],
    ['b+e.n@test.example', 'b+e.n@test.example'],
    ['bën@test.example', 'bën@test.example'],
    ['BËN@test.example', 'bËn@test.example'],
    // Lower case of it is k.
    ['\u212aim@test.example', '\u212aim@test.example'],
    ['b\u0435n@test.example', 'b\u0435n@test.example'],
    [long, long],
    [`a${long}`, undefined],
    [`${'é'.repeat(125)}@b.cd`, undefined],
    ...['', '@', 'ben', 'ben@', '@test.example', 'a@b@c', 'ben@@test.example'].map(
      text => [text, undefined] as const,
    ),
    ...[' ', '\t', '\n', '\0', '\u007f', '\u00a0', '\u2028', '\u200b', '\u202e', '\ufeff'].flatMap(
      mark => [
        [`ben${mark}@test.example`, undefined] as const,
        [`${mark}ben@test.example`, undefined] as const,
        [`ben@test.example${mark}`, undefined] as const,
      ],
    ),
    ['\ud800@test.example', undefined],
    ['a'.repeat(8 * 1024 * 1024), undefined],
    ['@'.repeat(8 * 1024 * 1024), undefined],
  ]
  for (const [index, [text, folded]] of cases.entries())
    t.equal(foldEmail(text), folded, `case ${index}`)
  const word = fc.stringMatching(/^[^@\s]{1,12}$/)
  fc.assert(
    fc.property(word, word, word, word, (name, domain, otherName, otherDomain) => {
      const [one, other] = [`${name}@${domain}`, `${otherName}@${otherDomain}`]
      const [folded, otherFolded] = [foldEmail(one), foldEmail(other)]
      if (folded !== undefined) t.equal(foldEmail(folded), folded, 'once is enough')
      const ascii = (text: string) => text.replace(/[A-Z]/g, letter => letter.toLowerCase())
      if (folded !== undefined && folded === otherFolded) t.equal(ascii(one), ascii(other))
    }),
  )
  t.end()
})

t.test('members find the accesses of others, as long as they are members', async t => {
  const dir = t.testdir()
  const { accessManager, store, close } = await openControl(dir)
  t.teardown(close)
  const shared = await accessManager.grant(NEW_ACCESS)
  const own = await accessManager.grant({ ...NEW_ACCESS, subject: 'ben' })
  const listed = (person = BEN) =>
    accessManager.listFor(person).map(access => [access.accessId, roleOf(access, person)])
  t.strictSame(listed(), [[own.accessId, 'owner']])
  const { accessId } = shared
  const { members } = await accessManager.addMember(accessId, BEN.verifiedEmail, 'view')
  t.strictSame(members, [{ email: BEN.verifiedEmail, role: 'view', addedAtMs: NOW_MS }])
  const both = [
    [own.accessId, 'owner'],
    [accessId, 'view'],
  ]
  t.strictSame(listed(), both, 'those of the person first')
  t.strictSame(listed(STRANGER), [])
  t.strictSame(listed({ subject: 'ben2', verifiedEmail: 'ben@test.exampl' }), [])
  await t.rejects(accessManager.addMember(accessId, BEN.verifiedEmail, 'manage'), {
    name: 'memberExists',
  })
  await accessManager.setMemberRole(accessId, BEN.verifiedEmail, 'manage')
  t.strictSame(listed().at(-1), [accessId, 'manage'])

  const documents = Array.from(store.accesses.from(''), ([, document]) => document)
  await store.transaction(() => store.replaceAll([], store.revision + 1))
  t.strictSame(listed(), [], 'of a store that lost the accesses')
  await store.transaction(() => store.replaceAll(documents, store.revision + 1))
  t.strictSame(listed().at(-1), [accessId, 'manage'], 'the index is made of the documents')
  const reader = await openReader(dir)
  t.teardown(() => reader.close())
  const indexed = () => {
    reader.resetRead()
    return Array.from(reader.members()?.from(['', '']) ?? [], ([key]) => key)
  }
  t.strictSame(indexed(), [[BEN.verifiedEmail, accessId]])

  await accessManager.addMember(own.accessId, BEN.verifiedEmail, 'view')
  t.strictSame(listed()[0], [own.accessId, 'owner'], 'an owner who is a member is the owner, once')
  t.equal(listed().length, 2)
  await accessManager.removeMember(own.accessId, BEN.verifiedEmail)
  await accessManager.removeMember(accessId, BEN.verifiedEmail)
  t.strictSame(listed(), [[own.accessId, 'owner']])
  t.strictSame(indexed(), [])
  for (const change of [
    accessManager.removeMember(accessId, BEN.verifiedEmail),
    accessManager.setMemberRole(accessId, BEN.verifiedEmail, 'view'),
  ])
    await t.rejects(change, { name: 'noSuchMember' })
  await t.rejects(accessManager.addMember('acc_none', BEN.verifiedEmail, 'view'), {
    name: 'noSuchAccess',
  })
})

t.test('an access has at most 16 members, also of a thousand additions at once', async t => {
  const { accessManager, close } = await openControl(t.testdir())
  t.teardown(close)
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  const names = new Map<string, number>()
  const add = async (email: string) => {
    const failed = await accessManager.addMember(accessId, email, 'view').then(
      () => '',
      (error: unknown) => Object(error).name,
    )
    names.set(failed, (names.get(failed) ?? 0) + 1)
  }
  await Promise.all(Array.from({ length: 1_000 }, (_, at) => add(`m${at % 500}@test.example`)))
  t.equal(names.get(''), 16)
  t.equal((names.get('membersFull') ?? 0) + (names.get('memberExists') ?? 0), 984)
  t.equal(accessManager.find(accessId)?.members?.length, 16)
})

t.test('whoever adds a person to many accesses fills a part of their list', async t => {
  const { accessManager, store, close } = await openControl(t.testdir())
  t.teardown(close)
  await accessManager.grant(NEW_ACCESS)
  const [document] = Array.from(store.accesses.from(''), ([, stored]) => stored)
  const members = [{ email: BEN.verifiedEmail, role: 'view', addedAtMs: NOW_MS }]
  const copies = Array.from(
    { length: 300 },
    (_, at) => ({ ...document, accessId: `acc_${at}`, members }) as StoredAccess,
  )
  await store.transaction(() => store.replaceAll(copies, store.revision + 1))
  t.equal(accessManager.listFor(BEN).length, 256)
  t.equal(roleOf(accessManager.find('acc_299') ?? { subject: '' }, BEN), 'view', 'by its id')
  const later = [{ email: BEN.verifiedEmail, role: 'audit', addedAtMs: NOW_MS }]
  t.equal(roleOf({ subject: 'ada', members: later }, BEN), undefined, 'a role of a later build')
})

t.test('a change of a member who is removed meanwhile is refused', async t => {
  const { journal, store, close } = await openControl(t.testdir())
  t.teardown(close)
  let between = (): Promise<unknown> => Promise.resolve()
  const raced = createCheckedJournal({
    propose: async change => {
      const run = between
      between = () => Promise.resolve()
      await run()
      return journal.propose(change)
    },
    follow: (after, signal) => journal.follow(after, signal),
    prove: () => journal.prove(),
  })
  const parts = { store, randomBytes, now: () => NOW_MS }
  const [manager, other] = [
    createAccessManager({ ...parts, journal: raced }),
    createAccessManager({ ...parts, journal }),
  ]
  const { accessId } = await manager.grant(NEW_ACCESS)
  await manager.addMember(accessId, BEN.verifiedEmail, 'manage')
  const change = (label: string) =>
    runFor(
      document => demandRole(roleOf(document, BEN), 'manage'),
      () => manager.relabel(accessId, label),
    )
  t.match(await change('while a member'), { hasChanged: true })
  between = () => other.setMemberRole(accessId, BEN.verifiedEmail, 'view')
  await t.rejects(change('as a viewer'), { name: 'accessRole' })
  await other.setMemberRole(accessId, BEN.verifiedEmail, 'manage')
  between = () => other.removeMember(accessId, BEN.verifiedEmail)
  await t.rejects(change('after it'), { name: 'noSuchAccess' })
  t.equal(manager.find(accessId)?.holderLabel, 'while a member')
})
