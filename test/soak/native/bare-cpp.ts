import t from 'tap'
import { startChild } from '../../../bench/child.js'
import type * as bareCpp from '../../../bench/peers/bare-cpp.js'

const REPLY = '{"jsonrpc":"2.0","result":1,"id":1}'

t.test('the bare C++ server is compiled with the same patches, and answers', async t => {
  const start: bareCpp.Start = { dir: t.testdir(), reply: REPLY }
  const peer = await startChild<typeof start, bareCpp.Listening>('peers/bare-cpp.js', start)
  t.teardown(() => peer.stop())
  const port = peer.answer?.port
  if (port === undefined) throw new Error('no patched sources were found')
  const response = await fetch(`http://127.0.0.1:${port}/a`, { method: 'POST', body: '{}' })
  t.equal(await response.text(), REPLY)
})
