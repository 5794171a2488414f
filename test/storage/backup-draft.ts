import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDraft, removeAbandonedDrafts } from '../../src/storage/backup-draft.js'
import { lockFile } from '../../src/native/os.js'

/** A folder of stores, and a folder of backups with remains of killed backups. */
const setUp = (t: Test) => {
  const dir = t.testdir({ stores: {}, backups: {} })
  const [stores, backups] = [join(dir, 'stores'), join(dir, 'backups')]
  const leave = (name: string, files: readonly string[]): string => {
    const draft = join(backups, name)
    mkdirSync(draft)
    for (const file of files) writeFileSync(join(draft, file), 'x')
    return draft
  }
  const note = (pid: number, draft: string) =>
    writeFileSync(join(stores, `backup-${pid}.draft`), `${draft}\n`)
  return { backups, leave, note, stores }
}

const LEFT = ['data.mdb', 'lock.mdb', 'backup.lock']

t.test('a draft writes a note and removes abandoned drafts', t => {
  const { backups, leave, note, stores } = setUp(t)
  const [own, other] = [leave('.a.unfinished', LEFT), leave('.b.unfinished', LEFT)]
  const kept = [
    leave('.c.unfinished', [...LEFT, 'letter']),
    leave('.d.unfinished', ['data.mdb']),
    leave('.unfinished', LEFT),
    leave('e', LEFT),
  ]
  const living = leave('.f.unfinished', LEFT)
  t.ok(lockFile(join(living, 'backup.lock')))
  note(1, own)
  const draft = openDraft(join(backups, 'a'), stores)
  t.equal(draft.dir, own)
  t.strictSame(readdirSync(own), ['backup.lock'])
  t.notOk(existsSync(other))
  for (const dir of [...kept, living])
    t.ok(existsSync(dir), 'neither a foreign folder nor a draft in use')
  t.throws(
    () => openDraft(join(backups, 'a'), stores),
    /another process is writing a backup to \S+a/,
  )
  draft.removeLocks()
  t.strictSame(readdirSync(own), [])
  draft.removeNote()
  t.strictSame(readdirSync(stores), [])
  t.end()
})

t.test('only abandoned drafts are removed, by their notes', t => {
  const { leave, note, stores } = setUp(t)
  const left = leave('.a.unfinished', LEFT)
  const living = leave('.b.unfinished', LEFT)
  t.ok(lockFile(join(living, 'backup.lock')))
  const foreign = leave('stuff', LEFT)
  for (const [index, dir] of [left, living, foreign, join(left, 'gone')].entries()) note(index, dir)
  writeFileSync(join(stores, 'CURRENT'), '1\n')
  removeAbandonedDrafts(stores)
  t.notOk(existsSync(left))
  t.ok(existsSync(living))
  t.ok(existsSync(foreign), 'no name of a draft')
  t.strictSame(readdirSync(stores).sort(), ['CURRENT', 'backup-1.draft', 'backup-2.draft'])
  t.end()
})

t.test('a backup succeeds if the note cannot be written', t => {
  const { backups, stores } = setUp(t)
  const draft = openDraft(join(backups, 'a'), join(stores, 'none'))
  t.ok(existsSync(draft.dir))
  draft.removeNote()
  t.end()
})
