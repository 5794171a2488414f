import { readFileSync } from 'node:fs'
import t from 'tap'
import { defaults, LIMIT_NAMES, mapLimits } from '../../src/shared/access-limits.js'
import { repositoryPath } from '../fixtures/repository.js'

const DOCS = repositoryPath('docs/access.md')

t.test('every limit has a value', async t => {
  t.strictSame(
    mapLimits(name => defaults[name]),
    defaults,
  )
})

t.test('docs/access.md describes every limit, and no other', async t => {
  const [, section = ''] = /\n## Limits\n(.*?)\n## /s.exec(readFileSync(DOCS, 'utf8')) ?? []
  const described = Array.from(section.matchAll(/^\| `(\w+)`/gm), ([, name]) => name)
  t.strictSame(described, LIMIT_NAMES)
})
