import fc from 'fast-check'
import t from 'tap'
import type { JournalEntry } from '../../../src/access/journal/access-journal.js'
import { openWriter } from '../../../src/access/store/store.js'
import type { AccessStore } from '../../../src/access/store/access-store.js'
import { NEW_ACCESS, openControl, type Control } from '../../fixtures/access/access.js'

/** Everything in a store but its layout. */
const contents = ({ accesses, subjects, digests, revision }: AccessStore) => ({
  revision,
  accesses: [...accesses.from('')],
  subjects: [...subjects.from(['', ''])],
  digests: [...digests.from(new Uint8Array())],
})

/** Runs random changes; some are refused. */
const change = async (
  { accessManager, tokenManager }: Control,
  accessIds: string[],
  { verb, at }: { readonly verb: string; readonly at: number },
): Promise<void> => {
  const accessId = accessIds[at % Math.max(accessIds.length, 1)] ?? ''
  const scope = { accessId, network: 'main', location: at % 2 === 0 ? 'fra' : 'nyc' }
  const verbs: Readonly<Record<string, () => Promise<unknown>>> = {
    grant: async () => accessIds.push((await accessManager.grant(NEW_ACCESS)).accessId),
    generate: () => tokenManager.generate(scope),
    regenerate: () => tokenManager.regenerate(scope),
    revoke: () => tokenManager.revoke(scope),
    end: () => accessManager.end(accessId),
  }
  await verbs[verb]?.().catch(() => {})
}

const step = fc.record({
  verb: fc.constantFrom('grant', 'generate', 'generate', 'regenerate', 'revoke', 'end'),
  at: fc.nat(5),
})

t.test('a store that applies the journal from any revision on is equal', async t => {
  const control = await openControl(t.testdir())
  const replica = await openWriter(t.testdir())
  const accessIds: string[] = []
  const catchUp = async (): Promise<void> => {
    const end = await control.journal.prove()
    if (replica.revision === end) return
    const { signal } = new AbortController()
    for await (const { revision, accesses } of control.journal.follow(replica.revision, signal)) {
      await replica.transaction(() => accesses.forEach(access => replica.putAccess(access)))
      t.equal(replica.revision, revision)
      if (revision === end) break
    }
  }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 20 }), async steps => {
      for (const one of steps) await change(control, accessIds, one)
      await catchUp()
      return t.strictSame(contents(replica), contents(control.store))
    }),
    { numRuns: 10 },
  )
  t.ok(replica.revision > 20, `${replica.revision} changes`)
  await replica.close()
  await control.close()
})

t.test('changes are followed as they are made, and each once', async t => {
  const { journal, accessManager, close } = await openControl(t.testdir())
  const following = new AbortController()
  const seen: JournalEntry[] = []
  const followed = (async () => {
    for await (const entry of journal.follow(1, following.signal)) {
      seen.push(entry)
      if (entry.revision === 4) following.abort()
    }
  })()
  const granted = [await accessManager.grant(NEW_ACCESS)]
  const more = [1, 2, 3].map(() => accessManager.grant(NEW_ACCESS))
  granted.push(...(await Promise.all(more)))
  await followed
  t.strictSame(
    seen.map(({ revision, accesses }) => [revision, accesses.map(({ accessId }) => accessId)]),
    granted.slice(1).map(({ accessId }, index) => [index + 2, [accessId]]),
  )
  t.equal(await journal.prove(), 4)
  await close()
})

t.test('a change that throws takes no revision', async t => {
  const { journal, store, close } = await openControl(t.testdir())
  const failure = new Error('refused')
  const refused = journal.propose({
    accessId: 'acc_1',
    update: current => {
      t.equal(current, undefined)
      throw failure
    },
  })
  await t.rejects(refused, failure)
  t.equal(store.revision, 0)
  await close()
})

t.test('each change has an id of its own', async t => {
  const { store, accessManager, close } = await openControl(t.testdir())
  const { accessId } = await accessManager.grant(NEW_ACCESS)
  const first = store.accesses.get(accessId)?.changeId ?? ''
  await accessManager.end(accessId)
  const second = store.accesses.get(accessId)?.changeId ?? ''
  t.match(first, /^chg_[0-9A-Za-z]{12}$/)
  t.not(first, second)
  await close()
})
