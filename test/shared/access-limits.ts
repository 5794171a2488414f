import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { defaults, LIMIT_NAMES, mapLimits } from '../../src/shared/access-limits.js'

const DOCS = fileURLToPath(new URL('../../docs/access.md', import.meta.url))

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
