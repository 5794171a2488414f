import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { repositoryPath } from '../fixtures/repository.js'

t.test('lines are counted by room, in two revisions', t => {
  const dir = t.testdir()
  const git = (...args: string[]): string => {
    const own = [
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@example.com',
      '-c',
      'commit.gpgsign=false',
    ]
    return execFileSync('git', [...own, ...args], { cwd: dir, encoding: 'utf8' })
  }
  const commit = (files: Readonly<Record<string, string>>): string => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, name)), { recursive: true })
      writeFileSync(join(dir, name), text)
    }
    git('add', '--all')
    git('commit', '--quiet', '--message', 'Files')
    return git('rev-parse', 'HEAD').trim()
  }
  git('init', '--quiet')
  const before = commit({
    'src/main.ts': 'a\n',
    'src/rpc/methods/a.ts': 'a\nb\n',
    'src/sandbox/a.ts': 'a\nb\nc\n',
    'src/dashboard/pages/a.tsx': 'a\n',
    'native/store/src/lib.rs': 'a\nwithout an end of its last line',
    'native/addon/index.js': 'generated\n',
    'native/uws/patches/a.patch': '+a\n',
    'test/vectors/a.json': '{}\n',
    'docs/decisions/0001-a.md': '# A\n',
    'README.md': '# B\n',
  })
  const after = commit({ 'src/rpc/methods/a.ts': 'a\n', 'src/access/é.ts': 'ü\n\n' })
  const script = repositoryPath('scripts/lines-by-room.mjs')
  const count = (...args: string[]): readonly string[] =>
    execFileSync(process.execPath, [script, ...args], { cwd: dir, encoding: 'utf8' })
      .trimEnd()
      .split('\n')
      .map(line => line.trim().replaceAll(/ {2,}/g, ' '))
  t.strictSame(count(before, after), [
    'src 3 4 1',
    'src/* 1 1 0',
    'src/access 0 2 2',
    'src/rpc 2 1 -1',
    'src apart 4 4 0',
    'src/dashboard/pages 1 1 0',
    'src/sandbox 3 3 0',
    'native 2 2 0',
    'native/store 1 1 0',
    'native/uws, patches 1 1 0',
    'docs 2 2 0',
    'docs/decisions 1 1 0',
    'elsewhere 1 1 0',
  ])
  t.equal(count()[0], 'src 4', 'without a revision, of HEAD')
  t.end()
})
