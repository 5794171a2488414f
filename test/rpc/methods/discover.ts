import t from 'tap'
import { METHODS } from '../../../src/rpc/registry.js'
import { toOpenRpc } from '../../../src/rpc/open-rpc.js'
import { fakeReads } from '../../fixtures/rpc/fake-reads.js'
import { askText, openDispatch } from '../../fixtures/rpc/vectors.js'

t.test('the reply is the document of the registry', async t => {
  const call = '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'
  const { result } = JSON.parse(await askText(openDispatch(fakeReads({})), call)) as {
    result: unknown
  }
  t.strictSame(result, toOpenRpc(METHODS.values()))
})
