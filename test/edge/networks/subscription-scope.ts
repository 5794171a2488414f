import bs58 from 'bs58'
import t from 'tap'
import { createSubscriptionScope } from '../../../src/edge/networks/subscription-scope.js'
import { defaults } from '../../../src/rpc/options.js'
import { openIndexer } from '../../../src/native/indexer.js'
import { decodePubkey } from '../../../src/native/encoding.js'
import { attempt } from '../../fixtures/attempt.js'
import { applyAccounts, POOLS, STORE } from '../../fixtures/rpc/store.js'

const keyOf = (byte: number): string => bs58.encode(new Uint8Array(32).fill(byte))
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const [PROGRAM, MINT, LISTED, HELD, ABSENT] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4), keyOf(5)]

const memcmp = (offset: number, key: string) => ({ offset, bytes: bs58.decode(key) })

t.test('subscriptions are limited to the indexed scope', async t => {
  const listed = { programs: [PROGRAM], mints: [MINT], pubkeys: [LISTED] }
  const bytes = (keys: readonly string[]) => keys.map(key => bs58.decode(key))
  const indexer = openIndexer(t.testdir(), {
    ...STORE,
    scope: {
      programs: bytes(listed.programs),
      mints: bytes(listed.mints),
      pubkeys: bytes(listed.pubkeys),
    },
  })
  const reader = indexer.openReader(POOLS)
  t.teardown(() => {
    reader.close()
    indexer.close()
  })
  const scope = createSubscriptionScope(listed)
  const covers = (key: string) => attempt(() => scope.coversAccount(decodePubkey(key)))
  t.equal(covers(LISTED), '-32603 The index has no block yet')
  scope.setReads(reader.reads(defaults))
  t.equal(covers(LISTED), '-32603 The index has no block yet')
  const account = {
    lamports: 5,
    data: ['', 'base64'] as const,
    owner: PROGRAM,
    executable: false,
    rentEpoch: 0,
  }
  applyAccounts(indexer, [{ pubkey: HELD, account }], 1)

  t.equal(covers(LISTED), true, 'it does not exist yet')
  t.equal(covers(MINT), true)
  t.equal(covers(HELD), true)
  t.equal(covers(ABSENT), false)
  const cases: [
    program: string,
    filters: Parameters<typeof scope.coversProgram>[1],
    is: boolean,
  ][] = [
    [PROGRAM, [], true],
    [keyOf(9), [], false],
    [keyOf(9), [memcmp(0, MINT)], false],
    [TOKEN, [], false],
    [TOKEN, [{ dataSize: 165 }], false],
    [TOKEN, [{ dataSize: 165 }, memcmp(0, MINT)], true],
    [TOKEN, [memcmp(32, MINT)], false],
    [TOKEN, [memcmp(0, ABSENT)], false],
    [TOKEN, [{ offset: 0, bytes: bs58.decode(MINT).subarray(0, 31) }], false],
  ]
  for (const [program, filters, is] of cases)
    t.equal(scope.coversProgram(decodePubkey(program), filters), is, JSON.stringify(filters))
})
