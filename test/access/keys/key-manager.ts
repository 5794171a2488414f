import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createAccessManager } from '../../../src/access/accesses/access-manager.js'
import { createCheckedJournal, runFor } from '../../../src/access/journal/checked-journal.js'
import { findApiKey } from '../../../src/access/keys/key-manager.js'
import { openReader } from '../../../src/access/store/store.js'
import { RpcError } from '../../../src/shared/errors.js'
import { NEW_ACCESS, NOW_MS, openControl } from '../../fixtures/access/access.js'

const DAY_MS = 86_400_000
const WANTED = { label: 'bot', scopes: ['usage:read'], validUntilMs: NOW_MS + DAY_MS } as const

t.test('a key is found by its text while it is in the document of its access', async t => {
  const dir = t.testdir()
  let nowMs = NOW_MS
  const { accessManager, keyManager, store, close } = await openControl(dir, () => nowMs)
  t.teardown(close)
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  const [one, other] = [
    await keyManager.make(accessId, WANTED),
    await keyManager.make(accessId, { ...WANTED, label: 'other' }),
  ]
  const found = (text: string) => keyManager.find(text)?.key.keyId
  t.equal(found(one.secret.reveal()), one.keyId)
  t.equal(found(other.secret.reveal()), other.keyId)
  for (const text of ['', 'slk_', one.secret.reveal().replace('slk_', 'slt_'), 'x'.repeat(1e6)])
    t.equal(keyManager.find(text), undefined)
  t.notOk(Object.hasOwn(accessManager.find(accessId) ?? {}, 'apiKeys'), 'nor shown to anyone')
  const reader = await openReader(dir)
  t.teardown(() => reader.close())
  t.equal(Array.from(reader.apiKeys()?.from(new Uint8Array()) ?? []).length, 2)

  const documents = Array.from(store.accesses.from(''), ([, document]) => document)
  await store.transaction(() => store.replaceAll([], store.revision + 1))
  t.equal(found(one.secret.reveal()), undefined, 'of a store that lost the access')
  await store.transaction(() => store.replaceAll(documents, store.revision + 1))
  t.equal(found(one.secret.reveal()), one.keyId, 'the index is made of the documents')

  await keyManager.revoke(accessId, one.keyId)
  t.equal(found(one.secret.reveal()), undefined)
  t.equal(found(other.secret.reveal()), other.keyId)
  await t.rejects(keyManager.revoke(accessId, one.keyId), { name: 'noSuchApiKey' })
  nowMs += DAY_MS
  t.equal(found(other.secret.reveal()), undefined, 'its end is exclusive')
  t.strictSame(
    keyManager.list(accessId).map(({ keyId }) => keyId),
    [other.keyId],
  )
})

t.test('a change is refused by the document that it would replace', async t => {
  const { journal, keyManager, store, close } = await openControl(t.testdir())
  t.teardown(close)
  // A machine of a cluster decides by a document that another one has changed meanwhile.
  let between = (): Promise<unknown> => Promise.resolve()
  const raced = {
    ...createCheckedJournal({
      propose: async change => {
        await between()
        return journal.propose(change)
      },
      follow: (after, signal) => journal.follow(after, signal),
      prove: () => journal.prove(),
    }),
  }
  const options = { store, journal: raced, randomBytes, now: () => NOW_MS }
  const manager = createAccessManager(options)
  const { accessId } = await manager.grant(NEW_ACCESS)
  const { keyId } = await keyManager.make(accessId, WANTED)
  const change = (label: string) =>
    runFor(
      document => {
        if (findApiKey(document, keyId, NOW_MS) === undefined) throw new RpcError('apiKey')
      },
      () => manager.relabel(accessId, label),
    )
  t.match(await change('while it is there'), {
    hasChanged: true,
    result: { holderLabel: 'while it is there' },
  })
  between = () => keyManager.revoke(accessId, keyId)
  await t.rejects(change('after it'), { name: 'apiKey' })
  t.equal(manager.find(accessId)?.holderLabel, 'while it is there')
  between = () => Promise.resolve()
  t.equal((await manager.relabel(accessId, 'by its holder')).holderLabel, 'by its holder')
})
