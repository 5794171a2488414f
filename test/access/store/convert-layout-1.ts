import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAuthenticate } from '../../../src/access/authenticate.js'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { defaults } from '../../../src/access/store/options.js'
import { openReader, openWriter } from '../../../src/access/store/store.js'
import { SCHEMA } from '../../../src/access/store/tables.js'
import { createSessions } from '../../../src/dashboard/auth/session.js'
import { openLmdb, openLmdbTable, type Key } from '../../../src/storage/lmdb.js'
import { NOW_MS, openControl } from '../../fixtures/access/access.js'
import { repositoryPath } from '../../fixtures/repository.js'

type Layout1 = {
  readonly sealingKey: string
  /** Of Ada, Ben and Ada NUL b. */
  readonly accessIds: readonly [string, string, string]
  /** Of Ada. */
  readonly sessionId: string
  readonly tokens: readonly {
    readonly accessId: string
    readonly network: string
    readonly location: string
    readonly tokenId: string
    readonly text: string
    readonly address: string | null
  }[]
  /** Keys and values in base64, as the build that had this layout wrote them. */
  readonly tables: Readonly<
    Record<string, readonly (readonly [key: Key | { readonly base64: string }, value: string])[]>
  >
}

const LAYOUT_1: Layout1 = JSON.parse(
  readFileSync(repositoryPath('test/fixtures/access/layout-1.json'), 'utf8'),
)

/** Writes the store of layout 1; without `omitted` tables, as if they did not exist yet. */
const writeLayout1 = async (t: Test, omitted: readonly string[] = []): Promise<string> => {
  const dir = t.testdir({ access: {} })
  const path = join(dir, 'access')
  const root = openLmdb({ ...defaults, path, tablesMax: 16, isReadOnly: false })
  for (const [name, rows] of Object.entries(LAYOUT_1.tables)) {
    if (omitted.includes(name)) continue
    const isBinary = name === 'digests' || name === 'sessions'
    const table = openLmdbTable(root, name, isBinary ? 'binary' : 'ordered-binary')
    for (const [key, value] of rows) {
      const isBytes = typeof key === 'object' && key !== null && 'base64' in key
      const stored = isBytes ? Buffer.from(key.base64, 'base64') : key
      await table?.put(stored, Buffer.from(value, 'base64'))
    }
  }
  await root.close()
  writeFileSync(join(dir, 'sealing.key'), `${LAYOUT_1.sealingKey}\n`, { mode: 0o600 })
  return dir
}

const { accessIds, sessionId, tokens } = LAYOUT_1
const [ADA, BEN, OTHER] = accessIds

t.test('accesses, tokens and sessions of layout 1 are as they were', async t => {
  const dir = await writeLayout1(t)
  const control = await openControl(dir)
  const { accessManager, tokenManager, store } = control
  t.strictSame(store.meta.get('store'), { schema: SCHEMA, revision: 3 })
  const ids = (subject: string) => accessManager.listOf(subject).map(({ accessId }) => accessId)
  t.strictSame([ids('ada'), ids('ben'), ids('ada\0b')], [[ADA], [BEN], [OTHER]])
  t.match(accessManager.find(BEN), { kind: 'rental', validUntilMs: NOW_MS + 10 })
  t.match(accessManager.find(BEN), { endedAtMs: NOW_MS })
  t.strictSame(
    tokenManager.list(ADA).map(({ network, location }) => `${network} ${location}`),
    ['dev fra', 'main fra', 'main nyc'],
  )
  const reader = await openReader(dir)
  const authenticate = createAuthenticate(reader, () => 1)
  for (const { text, ...scope } of tokens) {
    t.equal((await tokenManager.reveal(scope))?.reveal(), text, 'the sealing key is accepted')
    const peer = { address: scope.address ?? '192.0.2.1' }
    const answer = authenticate(text, scope.location, peer, NOW_MS)
    if (scope.accessId === BEN) t.equal(answer, 'forbidden', 'an access that was ended')
    else t.match(answer, { tokenId: scope.tokenId, network: scope.network })
  }
  const [restricted] = tokens
  t.equal(authenticate(restricted?.text ?? '', 'nyc', { address: '' }, NOW_MS), 'forbidden')
  t.equal([...store.digests.from(new Uint8Array())].length, tokens.length)
  await reader.close()

  const [{ tokenId, text: _text, ...scope } = { tokenId: '', text: '', accessId: '' }] = tokens
  const renewed = await tokenManager.regenerate({ network: '', location: '', ...scope })
  t.not(renewed.tokenId, tokenId, 'it can be changed')
  t.equal(store.revision, 4)
  await control.close()

  const ownStore = openControlStore(dir)
  const hour = 3_600_000
  const options = { sessionIdleMs: hour, sessionMaxMs: hour, sessionTouchMs: hour }
  const sessions = createSessions({
    store: ownStore,
    options: { ...options, sessionsPerPersonMax: 2 },
    randomBytes: () => new Uint8Array(),
    now: () => NOW_MS,
    onError: error => t.fail(String(error)),
  })
  t.match(await sessions.find(sessionId, '127.0.0.1'), {
    subject: 'ada',
    email: 'ada@test.example',
  })
  await ownStore.close()
})

t.test('a conversion that ended between its two stores is repeated', async t => {
  const dir = await writeLayout1(t)
  const ownStore = openControlStore(dir)
  await ownStore.transaction(() => ownStore.meta.put('sealing', { sealingKeyId: 'x' }))
  await ownStore.close()
  const control = await openControl(dir)
  const [first] = tokens
  if (first === undefined) return t.fail('no token')
  t.equal((await control.tokenManager.reveal(first))?.reveal(), first.text)
  await control.close()
})

t.test('a conversion that fails leaves the store as it was', async t => {
  const dir = await writeLayout1(t)
  const path = join(dir, 'access')
  const root = openLmdb({ ...defaults, path, tablesMax: 16, isReadOnly: false })
  const table = openLmdbTable(root, 'accesses', 'ordered-binary')
  await table?.put(OTHER, Buffer.from([0x80]))
  await root.close()
  await t.rejects(openWriter(dir), { message: /table accesses: .* is not of the declared shape/ })

  const again = openLmdb({ ...defaults, path, tablesMax: 16, isReadOnly: false })
  const rows = (name: string): number =>
    openLmdbTable(again, name, 'binary')?.getKeysCount() ?? Number.NaN
  t.strictSame(['accesses', 'tokens', 'digests', 'sessions'].map(rows), [3, 4, 4, 1])
  await again.close()
})

t.test('a store without the index of subjects, or without tokens, is converted too', async t => {
  const dir = await writeLayout1(t, ['subjects', 'tokens', 'digests', 'sessions'])
  const control = await openControl(dir)
  const [access, ...more] = control.accessManager.listOf('ada\0b')
  t.equal(access?.accessId, OTHER)
  t.strictSame(more, [])
  t.strictSame(control.tokenManager.list(ADA), [])
  await control.close()
})
