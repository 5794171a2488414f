import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { repositoryPath } from '../fixtures/repository.js'

const DECISION = repositoryPath('docs/decisions/0001-uwebsockets-from-npm.md')
const recorded = new Map(
  [...readFileSync(DECISION, 'utf8').matchAll(/^\| `(\S+\.node)` \| `([0-9a-f]{64})` \|/gm)].map(
    ([, name = '', digest = '']) => [name, digest],
  ),
)
const folder = dirname(createRequire(import.meta.url).resolve('uWebSockets.js'))

t.test('the binary that this process would load is recorded', async t => {
  const name = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
  t.ok(recorded.has(name), `docs/decisions/0001 records ${name}`)
})

for (const [name, digest] of recorded)
  t.test(`${name} has the recorded checksum`, async t => {
    const hash = createHash('sha256').update(readFileSync(join(folder, name)))
    t.equal(hash.digest('hex'), digest)
  })
