import bs58 from 'bs58'
import t from 'tap'
import { defaults } from '../../../src/rpc/options.js'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { applyAccounts, openStore, type AccountDump } from '../../fixtures/rpc/store.js'
import { askText, openDispatch } from '../../fixtures/rpc/vectors.js'

const MINT = new Uint8Array(32).fill(7)
const HOLDERS = 150
/** More than may leave the row that has the largest. */
const EMPTIED = 100

const dump = (slot: number, pubkey: Uint8Array, data: Uint8Array): AccountDump => ({
  slot,
  pubkey: bs58.encode(pubkey),
  account: {
    lamports: 1,
    data: [Buffer.from(data).toString('base64'), 'base64'],
    owner: bs58.encode(ADDRESSES.token),
    executable: false,
    rentEpoch: 0,
  },
})

const holder = (index: number): Uint8Array => new Uint8Array(32).fill(10 + index)

const tokenAccount = (slot: number, index: number, amount: number): AccountDump => {
  const data = Buffer.alloc(165)
  data.set(MINT)
  data.writeBigUInt64LE(BigInt(amount), 64)
  data[108] = 1
  return dump(slot, holder(index), data)
}

t.test('a mint whose largest accounts were just emptied', async t => {
  const { indexer, reader } = openStore(t)
  const mint = Buffer.alloc(82)
  mint[45] = 1
  const indices = Array.from({ length: HOLDERS }, (_, index) => index)
  applyAccounts(
    indexer,
    [
      dump(10, MINT, mint),
      ...indices.map(index => tokenAccount(10, index, index)),
      ...indices.slice(-EMPTIED).map(index => tokenAccount(11, index, 0)),
    ],
    11,
  )
  t.strictSame(indexer.check(), [])
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'getTokenLargestAccounts',
    params: [bs58.encode(MINT)],
  }
  const left = indices.slice(0, -EMPTIED).reverse().slice(0, 20)
  const value = left.map(index => ({
    address: bs58.encode(holder(index)),
    amount: String(index),
    decimals: 0,
    uiAmount: index,
    uiAmountString: String(index),
  }))
  for (const fastLane of [true, false]) {
    const dispatch = openDispatch(reader.reads(defaults), { fastLane })
    const reply = { jsonrpc: '2.0', id: 1, result: { context: { slot: 11 }, value } }
    const ask = async (body: unknown): Promise<unknown> =>
      JSON.parse(await askText(dispatch, JSON.stringify(body)))
    t.strictSame(await ask(call), reply, `fast lane ${fastLane}`)
    t.strictSame(await ask([call]), [reply])
    const late = openDispatch(reader.reads({ ...defaults, readTimeoutMs: 0 }), { fastLane })
    const refused = await askText(late, JSON.stringify(call))
    t.match(refused, /-32603.*Read timed out/, 'its own timeout')
  }
})
