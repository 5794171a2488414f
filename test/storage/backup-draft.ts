import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDraft, removeLeftDrafts } from '../../src/storage/backup-draft.js'
import { lockFile } from '../../src/native/os.js'

/** A folder of stores, one of backups, and what a killed backup leaves in it. */
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

t.test('a draft notes where it is, and clears what killed ones left', t => {
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
    t.ok(existsSync(dir), 'neither what is not ours nor a living one')
  t.throws(() => openDraft(join(backups, 'a'), stores), /another backup to \S+a is being made/)
  draft.strip()
  t.strictSame(readdirSync(own), [])
  draft.forget()
  t.strictSame(readdirSync(stores), [])
  t.end()
})

t.test('who starts on the stores clears what was noted, and nothing else', t => {
  const { leave, note, stores } = setUp(t)
  const left = leave('.a.unfinished', LEFT)
  const living = leave('.b.unfinished', LEFT)
  t.ok(lockFile(join(living, 'backup.lock')))
  const foreign = leave('stuff', LEFT)
  for (const [index, dir] of [left, living, foreign, join(left, 'gone')].entries()) note(index, dir)
  writeFileSync(join(stores, 'CURRENT'), '1\n')
  removeLeftDrafts(stores)
  t.notOk(existsSync(left))
  t.ok(existsSync(living))
  t.ok(existsSync(foreign), 'no name of a draft')
  t.strictSame(readdirSync(stores).sort(), ['CURRENT', 'backup-1.draft', 'backup-2.draft'])
  t.end()
})

t.test('stores that cannot be written do not stop a backup elsewhere', t => {
  const { backups, stores } = setUp(t)
  const draft = openDraft(join(backups, 'a'), join(stores, 'none'))
  t.ok(existsSync(draft.dir))
  draft.forget()
  t.end()
})
