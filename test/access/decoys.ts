import t from 'tap'
import { Decoys } from '../../src/access/decoys.js'
import { openReader } from '../../src/access/store/store.js'
import { digestToken } from '../../src/access/tokens/location-token.js'
import { NEW_ACCESS, openControl } from '../fixtures/access/access.js'

t.test('digests that are there, in turn, and only for as long as they are', async t => {
  const dir = t.testdir()
  const control = await openControl(dir)
  const reader = await openReader(dir)
  t.teardown(async () => {
    await reader.close()
    await control.store.close()
  })
  const decoys = new Decoys(reader)
  t.equal(decoys.next(), undefined, 'of an empty store')

  const { accessId } = await control.accessManager.grant(NEW_ACCESS)
  const scopes = ['fra', 'nyc'].map(location => ({ accessId, network: 'main', location }))
  const digests: string[] = []
  for (const scope of scopes) {
    const { token } = await control.tokenManager.generate(scope)
    digests.push(digestToken(token.reveal()).toString('hex'))
  }
  reader.resetRead()
  decoys.forget()
  const seen = Array.from({ length: 4 }, () => Buffer.from(decoys.next() ?? []).toString('hex'))
  t.strictSame(new Set(seen), new Set(digests))
  t.equal(seen[0], seen[2])

  for (const scope of scopes) await control.tokenManager.revoke(scope)
  reader.resetRead()
  decoys.forget()
  t.equal(decoys.next(), undefined)
})
