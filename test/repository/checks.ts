import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownDir } from '../fixtures/own-dir.js'
import { repositoryPath } from '../fixtures/repository.js'

const check = (script: string, dir: string, argument: string) =>
  spawnSync(process.execPath, [repositoryPath(`scripts/${script}`), argument], {
    cwd: dir,
    encoding: 'utf8',
  })

t.test('promises that are lost are refused, and wrong types', async t => {
  const dir = ownDir(t)
  const lost: readonly string[] = [
    'work()',
    'isOn && work()',
    'isOn ? work() : undefined',
    'work().then(() => {})',
    'work().finally(() => {})',
    'if (work()) throw new Error()',
    'if (!work()) throw new Error()',
    'call(async () => {})',
    'call(() => work())',
    'const text: string = 1',
  ]
  const sound: readonly string[] = [
    'await work()',
    'void work()',
    'work().catch(() => {})',
    'work().then(() => {}, () => {})',
    'work().catch(() => {}).finally(() => {})',
    'let kept = work(); kept = work()',
    'call(() => void work())',
    'take(async () => {})',
    'if (maybe()) throw new Error()',
  ]
  const lines = [...lost, ...sound].map(line => `{ ${line} }`)
  const head = `declare const isOn: boolean
declare const work: () => Promise<void>, maybe: () => Promise<void> | undefined
declare const call: (run: () => void) => void, take: (run: () => Promise<void> | void) => void`
  const first = head.split('\n').length + 1
  writeFileSync(join(dir, 'a.ts'), `${head}\n${lines.join('\n')}\nexport {}\n`)
  const compilerOptions = { target: 'es2023', module: 'nodenext', types: [], strict: true }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['a.ts'] }))
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }')
  const { status, stderr } = check('check-types.mjs', dir, '.')
  t.equal(status, 1)
  const faults = new Set(Array.from(stderr.matchAll(/^a\.ts[:(](\d+)/gm), ([, line]) => line))
  t.strictSame(
    Array.from(faults, Number).toSorted((one, other) => one - other),
    lost.map((_, index) => first + index),
    stderr,
  )
})

t.test('a subject of a commit has at most 60 characters', async t => {
  const dir = ownDir(t)
  const git = (...args: readonly string[]) => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b.example']
    t.equal(spawnSync('git', [...identity, ...args], { cwd: dir }).status, 0)
  }
  git('init', '--quiet')
  git('commit', '--quiet', '--allow-empty', '--message', `É${'a'.repeat(59)}\n\n${'b'.repeat(80)}`)
  t.equal(check('check-subjects.mjs', dir, dir).status, 0)
  git('commit', '--quiet', '--allow-empty', '--message', 'a'.repeat(61))
  const { status, stderr } = check('check-subjects.mjs', dir, dir)
  t.equal(status, 1)
  t.match(stderr, /^commit [0-9a-f]+: 61 characters: a{61}\n$/)
  for (let count = 0; count < 50; count++)
    git('commit', '--quiet', '--allow-empty', '--message', 'Add')
  t.equal(check('check-subjects.mjs', dir, dir).status, 0, 'older ones are not checked')
})
