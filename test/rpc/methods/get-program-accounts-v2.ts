import { createHash } from 'node:crypto'
import bs58 from 'bs58'
import t from 'tap'
import { defaults } from '../../../src/rpc/options.js'
import { applyAccounts, openStore, type AccountDump } from '../../fixtures/rpc/store.js'
import { ask, openDispatch, VECTOR_SLOT } from '../../fixtures/rpc/vectors.js'

const PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const rows = Array.from({ length: 600 }, (_, index): AccountDump => {
  const pubkey = bs58.encode(createHash('sha256').update(`row ${index}`).digest())
  const data = ['AAAA', 'base64'] as const
  return { pubkey, account: { lamports: 1, data, owner: PROGRAM, executable: false, rentEpoch: 0 } }
})
const BUDGET = 'Query exceeded the read budget; narrow the filters or use pagination'

t.test('the read budget', async t => {
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, rows, VECTOR_SLOT)
  const over = async (limits: Partial<typeof defaults>, config: unknown): Promise<unknown> => {
    const dispatch = openDispatch(reader.reads({ ...defaults, ...limits }))
    const params = [PROGRAM, config]
    return ask(
      dispatch,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getProgramAccountsV2', params }),
    )
  }
  const failed = (limit: number, scanned: number) => ({
    jsonrpc: '2.0',
    error: { code: -32003, message: BUDGET, data: { limit, scanned } },
    id: 1,
  })
  const none = { filters: [{ dataSize: 9 }] }
  t.strictSame(
    await over({ scanMs: 0 }, none),
    failed(1_000, 256),
    'of time, checked every 256 rows',
  )
  t.strictSame(await over({ pageReplyBytesMax: 100 }, { limit: 7 }), failed(7, 1), 'of bytes')
  t.match(await over({}, none), { result: { count: 0, paginationKey: null } })
})
