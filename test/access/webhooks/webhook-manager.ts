import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Packr } from 'msgpackr'
import t, { type Test } from 'tap'
import { backUpAccess } from '../../../src/access/store/backup.js'
import { defaults } from '../../../src/access/store/options.js'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { openReader, openReaderAt, storePath } from '../../../src/access/store/store.js'
import { decodeValue, encodeValue, openRoot } from '../../../src/access/store/table.js'
import { SCHEMA, TABLES } from '../../../src/access/store/tables.js'
import type { AlertRule } from '../../../src/access/store/webhook-shape.js'
import { createSealing } from '../../../src/access/tokens/sealing.js'
import { closeLmdbWriter, openLmdbTable } from '../../../src/storage/lmdb.js'
import { mapSealed } from '../../../src/access/tokens/sealed-parts.js'
import { WEBHOOKS_MAX } from '../../../src/access/webhooks/bounds.js'
import { createWebhookManager } from '../../../src/access/webhooks/webhook-manager.js'
import { RpcError } from '../../../src/shared/errors.js'
import { NEW_ACCESS, NOW_MS, openControl } from '../../fixtures/access/access.js'
import { scriptPath } from '../../fixtures/repository.js'

const RULE: AlertRule = {
  ruleId: 'rule_1',
  kind: 'limit-near',
  isOn: true,
  threshold: 80,
  windowMinutes: 0,
  countMin: 0,
  onlyRising: false,
  method: '',
  webhooks: null,
  sendsResolved: false,
}

const HOOK = new URL('https://hooks.example.com/path-canary?query-canary')

const openAll = async (t: Test, dir = t.testdir()) => {
  const control = await openControl(dir)
  const ownStore = openControlStore(dir)
  t.teardown(() => Promise.all([control.close(), ownStore.close()]))
  const sealing = createSealing(control.keyFile, ownStore, randomBytes)
  const parts = { store: control.store, journal: control.journal, randomBytes, now: () => NOW_MS }
  const webhooks = createWebhookManager({ ...parts, sealing })
  const { accessId } = await control.accessManager.grant(NEW_ACCESS)
  return { ...control, dir, webhooks, accessId }
}

t.test('a webhook is sealed in the document of its access', async t => {
  const { webhooks, accessId, accessManager, store } = await openAll(t)
  const made = await webhooks.add(accessId, HOOK)
  t.match(made, { origin: 'https://hooks.example.com', createdAtMs: NOW_MS, messages: [] })
  const { url, secret } = await webhooks.reveal(accessId, made)
  t.equal(url.reveal(), HOOK.href)
  t.match(secret.reveal(), /^whsec_[A-Za-z0-9+/]{43}=$/)
  const stored = store.accesses.getBytes(accessId)?.toString('latin1') ?? ''
  t.ok(stored.includes('https://hooks.example.com'))
  t.notOk(stored.includes('canary'))
  t.notOk('webhooks' in (accessManager.find(accessId) ?? {}), 'an access as others see it')
  const other = { ...made, sealedSecret: made.sealedUrl }
  await t.rejects(webhooks.reveal(accessId, other), 'one sealed text in place of the other')
})

t.test('it is kept by other changes of the access, and listed', async t => {
  const { webhooks, accessId, accessManager, tokenManager } = await openAll(t)
  t.strictSame(webhooks.list(), [])
  const made = await webhooks.add(accessId, HOOK)
  await accessManager.relabel(accessId, 'Bot')
  await accessManager.amend(accessId, access => ({ ...access, locations: ['fra'] }))
  await tokenManager.generate({ accessId, network: 'main', location: 'fra' })
  await accessManager.end(accessId)
  t.strictSame(webhooks.of(accessId), [made])
  t.strictSame(webhooks.list(), [accessId])
  await webhooks.remove(accessId, made.webhookId)
  t.equal(webhooks.find(accessId, made.webhookId), undefined)
  t.strictSame(webhooks.list(), [])
  await t.rejects(webhooks.remove(accessId, made.webhookId), new RpcError('noWebhook'))
  await t.rejects(webhooks.add('acc_none', HOOK), new RpcError('noSuchAccess'))
})

t.test('of changes at once each sees the one before', async t => {
  const { webhooks, accessId } = await openAll(t)
  t.equal(await webhooks.changeAll(accessId, one => one), undefined, 'there is none')
  const { webhookId } = await webhooks.add(accessId, HOOK)
  const gone = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      webhooks.change(accessId, webhookId, one =>
        one.goneAtMs === null ? { ...one, goneAtMs: index } : undefined,
      ),
    ),
  )
  t.equal(gone.filter(one => one !== undefined).length, 1)
})

t.test('replaced, it keeps when its last messages were, and drops what was pending', async t => {
  const { webhooks, accessId } = await openAll(t)
  const first = await webhooks.add(accessId, HOOK)
  const message = {
    messageId: 'msg_1',
    kind: 'limit-near',
    createdAtMs: NOW_MS,
    body: '{}',
    state: 'pending' as const,
    attempts: 1,
    nextAtMs: NOW_MS,
    status: 500,
    problem: 'answered 500',
  }
  await webhooks.change(accessId, first.webhookId, one => ({
    ...one,
    goneAtMs: NOW_MS,
    reported: [{ rule: 'limit-near', network: null, location: null }],
    lastOfKind: [{ rule: 'limit-near', atMs: NOW_MS }],
    messages: [message],
  }))
  const second = await webhooks.replace(
    accessId,
    first.webhookId,
    new URL('https://other.example.com/'),
  )
  t.match(second, {
    origin: 'https://other.example.com',
    goneAtMs: null,
    reported: [],
    lastOfKind: [{ rule: 'limit-near', atMs: NOW_MS }],
    messages: [{ state: 'failed', body: '', attempts: 1, problem: 'the webhook was replaced' }],
  })
  t.equal(second.webhookId, first.webhookId, 'rules name it still')
})

t.test('it is in a backup, and a reader of another process sees it', async t => {
  const { webhooks, accessId, dir } = await openAll(t)
  const made = await webhooks.add(accessId, HOOK)
  const reader = await openReader(dir)
  t.teardown(() => reader.close())
  t.strictSame(reader.accesses.get(accessId)?.webhooks, [made])
  const target = join(dir, 'backup')
  await backUpAccess(target, {
    dataDir: dir,
    storeOptions: defaults,
    diskReserveBytes: 0,
    readKeyId: () => undefined,
  })
  const copy = await openReaderAt(target, defaults)
  t.teardown(() => copy.close())
  t.strictSame(copy.accesses.get(accessId)?.webhooks, [made])
  t.strictSame(
    Array.from(copy.webhooks()?.from('') ?? [], ([id]) => id),
    [accessId],
  )
})

t.test('a store of a build without webhooks is read, and gets the index from a writer', async t => {
  const dir = t.testdir()
  mkdirSync(storePath(dir))
  const root = openRoot(storePath(dir), defaults, false)
  for (const { name, key } of [TABLES.accesses, TABLES.subjects, TABLES.digests])
    openLmdbTable(root, name, key)
  const meta = openLmdbTable<string>(root, TABLES.meta.name, TABLES.meta.key)
  await meta?.put('store', encodeValue(TABLES.meta, { schema: SCHEMA, revision: 0 }))
  await closeLmdbWriter(root)
  const reader = await openReader(dir)
  t.teardown(() => reader.close())
  t.equal(reader.webhooks(), undefined)
  // Another process, as a follower that was upgraded before control.
  const script = scriptPath('test/fixtures/access/access-writer')
  execFileSync(process.execPath, [...process.execArgv, script, dir], { input: '' })
  reader.resetRead()
  const index = reader.webhooks()
  t.ok(index, 'it is there now')
  t.strictSame([...(index?.from('') ?? [])], [])
})

t.test('an access has up to eight, and rules do not name one that was removed', async t => {
  const { webhooks, accessId, accessManager } = await openAll(t)
  const made = []
  for (let index = 0; index < WEBHOOKS_MAX; index++) made.push(await webhooks.add(accessId, HOOK))
  await t.rejects(webhooks.add(accessId, HOOK), new RpcError('webhooksFull', { max: 8 }))
  const ids = made.map(({ webhookId }) => webhookId)
  t.strictSame(
    webhooks.of(accessId).map(({ webhookId }) => webhookId),
    ids,
  )
  const [first = '', second = ''] = ids
  await accessManager.setAlertRules(accessId, [
    { ...RULE, webhooks: [first, second] },
    { ...RULE, ruleId: 'rule_2' },
  ])
  await webhooks.remove(accessId, first)
  t.match(accessManager.find(accessId)?.alertRules, [{ webhooks: [second] }, { webhooks: null }])
  await t.rejects(webhooks.replace(accessId, first, HOOK), new RpcError('noWebhook'))
})

t.test('the one webhook of a store of an older build is read, sealed again and kept', async t => {
  const { webhooks, accessId, store, accessManager } = await openAll(t)
  const made = await webhooks.add(accessId, HOOK)
  const current = store.accesses.get(accessId)
  if (current === undefined) return t.fail('no access')
  // As the older build has written it.
  const { webhooks: _webhooks, ...rest } = current
  const reported = [{ kind: 'limit-near', network: null, location: null }]
  const lastOfKind = [{ kind: 'limit-near', atMs: NOW_MS }]
  const old = { ...rest, webhook: { ...made, reported, lastOfKind } }
  const read = decodeValue(TABLES.accesses, new Packr({ useRecords: false }).pack(old))
  t.match(read.webhooks, [
    {
      webhookId: made.webhookId,
      reported: [{ rule: 'limit-near', network: null, location: null }],
      lastOfKind: [{ rule: 'limit-near', atMs: NOW_MS }],
    },
  ])
  t.notOk('webhook' in read)
  t.equal(mapSealed(read, sealed => sealed).webhooks.length, 1)
  await store.transaction(() => store.putAccess(read))
  const [found] = webhooks.of(accessId)
  t.equal(found && (await webhooks.reveal(accessId, found)).url.reveal(), HOOK.href)
  await accessManager.relabel(accessId, 'Bot')
  t.equal(webhooks.of(accessId).length, 1)
  const broken = { ...old, webhook: { ...made, reported: [{ network: null, location: null }] } }
  t.throws(() => decodeValue(TABLES.accesses, new Packr({ useRecords: false }).pack(broken)))
})
