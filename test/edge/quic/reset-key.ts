import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openResetKey } from '../../../src/edge/quic/reset-key.js'

t.test('all edges of a machine have one key, which stays', async t => {
  const dir = t.testdir()
  const key = openResetKey(dir)
  t.equal(key.length, 32)
  t.strictSame(openResetKey(dir), key)
  t.strictSame(readdirSync(dir), ['quic.key'])
  t.equal(statSync(join(dir, 'quic.key')).mode & 0o777, 0o600)
  t.notSame(openResetKey(t.testdir({ other: {} })), key)
  t.throws(() => openResetKey(join(dir, 'none')), /ENOENT/)
})
