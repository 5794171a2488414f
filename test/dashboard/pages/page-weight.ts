import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { repositoryPath } from '../../fixtures/repository.js'

const BUILT = repositoryPath('dist/dashboard/pages/')
/** Maximum compressed size of all files of the page. */
const BYTES_MAX = 120_000

const files = readdirSync(BUILT, { recursive: true, encoding: 'utf8' })
  .filter(name => /\.\w+$/.test(name))
  .map(name => ({ name, bytes: readFileSync(join(BUILT, name)) }))

t.test(`the page has less than ${BYTES_MAX} bytes`, t => {
  const weight = files.reduce((sum, { bytes }) => sum + gzipSync(bytes).length, 0)
  t.ok(weight > 10_000 && weight < BYTES_MAX, `${weight} bytes`)
  t.end()
})

t.test('nothing is inline, and names of scripts and styles contain a hash', t => {
  const page = files.find(({ name }) => name === 'index.html')?.bytes.toString() ?? ''
  t.notMatch(page, /<style|style=|<script(?![^>]*src=)|\son\w+=/, 'the policy would stop it')
  for (const [, path = ''] of page.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g))
    t.match(path, /^\.\/assets\/index-[\w-]{8}\.(js|css)$/)
  t.end()
})
