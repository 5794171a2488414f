import t from 'tap'
import { withTimeout } from '../../src/rpc/with-timeout.js'
import { RpcError } from '../../src/shared/errors.js'
import type { ReplyBytes } from '../../src/native/reads.js'
import { textSource } from '../fixtures/rpc/fake-reads.js'

t.test('a result in time is returned', async t => {
  const result = Buffer.from('a')
  t.equal(await withTimeout(60_000, Promise.resolve(result)), result)
  await t.rejects(withTimeout(60_000, Promise.reject(new RpcError('notTokenMint'))), {
    name: 'notTokenMint',
  })
})

t.test('a late result is a timeout, and its source is closed', async t => {
  const source = textSource('')
  let settle: (result: ReplyBytes) => void = () => {}
  const pending = new Promise<ReplyBytes>(resolve => (settle = resolve))
  await t.rejects(withTimeout(0, pending), {
    name: 'readTimeout',
    message: 'Read timed out after 30 seconds',
  })
  settle(source)
  await pending
  t.equal(source.closeCount, 1, 'its source is closed')
})

t.test('a late failure is ignored', async t => {
  let fail: (fault: Error) => void = () => {}
  const pending = new Promise<ReplyBytes>((_, reject) => (fail = reject))
  await t.rejects(withTimeout(0, pending), { name: 'readTimeout' })
  fail(new Error('late'))
  await t.rejects(pending, { message: 'late' })
})
