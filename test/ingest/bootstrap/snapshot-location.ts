import { createServer } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { defaults as archive } from '../../../src/ingest/bootstrap/archive-options.js'
import {
  parseSnapshotName,
  resolveSnapshot,
} from '../../../src/ingest/bootstrap/snapshot-location.js'
import { listen } from '../../fixtures/listen.js'

const HASH = '5pgMpQj4MZYWauD1VnoNfmGAdUQCe6VVCSCQMNbDoxf7'

t.test('archive names are parsed', t => {
  const cases: [name: string, found: ReturnType<typeof parseSnapshotName>][] = [
    [`snapshot-1-${HASH}.tar.zst`, { slot: 1, base: undefined }],
    [`snapshot-440284702-${HASH}.tar.lz4`, { slot: 440_284_702, base: undefined }],
    [`snapshot-7-${HASH}.tar`, { slot: 7, base: undefined }],
    [`incremental-snapshot-1-4-${HASH}.tar.zst`, { slot: 4, base: 1 }],
    [`snapshot-1-${HASH}`, undefined],
    [`snapshot-${'9'.repeat(16)}-${HASH}.tar.zst`, undefined],
    [`snapshot--${HASH}.tar.zst`, undefined],
    [`snapshot-1-${HASH}0.tar.zst`, undefined],
    ['snapshot.tar.bz2', undefined],
    ['', undefined],
  ]
  for (const [name, found] of cases) t.strictSame(parseSnapshotName(name), found, name)
  fc.assert(fc.property(fc.string(), name => parseSnapshotName(name) === undefined))
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (base, slot) => {
      const found = parseSnapshotName(`incremental-snapshot-${base}-${slot}-${HASH}.tar.zst`)
      return found?.base === base && found.slot === slot
    }),
  )
  t.end()
})

t.test('a server’s newest snapshot is the target of its redirects', async t => {
  let location: string | undefined
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/hang')) return
    if (request.url?.startsWith('/none')) return void response.writeHead(404).end()
    if (location === undefined) return void response.writeHead(404).end()
    const isLast = request.url === '/two'
    const to = isLast ? location : '/two'
    response.writeHead(302, { location: request.url === '/loop' ? '/loop' : to }).end()
  })
  const url = `http://127.0.0.1:${await listen(t, server)}`
  location = `/x/incremental-snapshot-3-9-${HASH}.tar.zst?key=qzx11`
  t.strictSame(await resolveSnapshot(`${url}/one?key=qzx11`, { archive, resolveMs: 5_000 }), {
    slot: 9,
    base: 3,
  })
  t.strictSame(
    await resolveSnapshot(`/a/snapshot-3-${HASH}.tar.zst`, { archive, resolveMs: 5_000 }),
    {
      slot: 3,
      base: undefined,
    },
  )
  const refused: [source: string, message: RegExp][] = [
    [`${url}/loop`, /redirects more than 5 times$/],
    [`${url}/none?key=qzx11`, /cannot be asked for its newest snapshot: it answers 404$/],
    [`${url}/hang?key=qzx11`, /cannot be asked for its newest snapshot/],
    ['http://127.0.0.1:2/one?key=qzx11', /cannot be asked.*ECONNREFUSED/],
    ['/a/x.tar.zst', /x\.tar\.zst has no name of a snapshot/],
  ]
  for (const [source, message] of refused) {
    // A busy machine may take longer than what is waited for here.
    const resolveMs = source.includes('/hang') ? 300 : 5_000
    const error: unknown = await resolveSnapshot(source, { archive, resolveMs }).catch(
      (error: unknown) => error,
    )
    t.ok(error instanceof Error)
    t.match(String(error), message)
    t.notMatch(String(error), /qzx11/)
  }
  location = 'file:///etc/passwd'
  await t.rejects(
    resolveSnapshot(`${url}/two`, { archive, resolveMs: 5_000 }),
    /has no name of a snapshot/,
  )
})
