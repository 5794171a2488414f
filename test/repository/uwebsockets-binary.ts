import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { repositoryPath } from '../fixtures/repository.js'

const DECISION = repositoryPath('docs/decisions/0001-uwebsockets-from-npm.md')

t.test('the uWebSockets.js binary has the recorded checksum', async t => {
  const recorded = new Map(
    [...readFileSync(DECISION, 'utf8').matchAll(/^\| `(\S+\.node)` \| `([0-9a-f]{64})` \|$/gm)].map(
      ([, name, digest]) => [name, digest],
    ),
  )
  const name = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
  const folder = dirname(createRequire(import.meta.url).resolve('uWebSockets.js'))
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex')
  t.equal(digest, recorded.get(name), `${name}, as docs/decisions/0001 records it`)
})
