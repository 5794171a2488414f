import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ERRORS, RpcError } from '../../src/shared/errors.js'
import { openIndexer, type BlockData } from '../../src/native/indexer.js'
import { decodeMemcmp, decodePubkey, encodePubkey } from '../../src/native/encoding.js'
import { NativeError } from '../../src/native/errors.js'
import { repositoryPath } from '../fixtures/repository.js'
import { openStoreAt, STORE } from '../fixtures/rpc/store.js'

/** Native failures that never reach a client; the indexer logs their codes. */
const OPERATOR_ONLY = [
  'notNextBlock',
  'storeUnusable',
  'storeOutdated',
  'storeStopped',
  'storeBroken',
  'diskReserve',
  'snapshotInvalid',
  'snapshotTransfer',
  'cancelled',
  'loadFailed',
]

t.test('codes of native failures', async t => {
  const source = readFileSync(repositoryPath('native/sys/src/error.rs'), 'utf8')
  const names = Array.from(source.matchAll(/Error::\w+.* => "(\w+)"/g), match => match[1] ?? '')
  t.ok(names.length >= 19, `${names.length} names`)
  t.strictSame(names.filter(name => !Object.hasOwn(ERRORS, name)).sort(), [...OPERATOR_ONLY].sort())
  // The wrapper fills the fields of two rows; a further row with fields would lose its text.
  const fields = Object.entries(ERRORS)
    .filter(([name]) => names.includes(name))
    .flatMap(([name, { message }]) => (/\{(\w+)\}/.exec(message) ? [[name, message]] : []))
  t.strictSame(fields.map(([name]) => name).sort(), ['memcmpBytes', 'pubkeyDecode'])
})

const KEY = new Uint8Array(32).fill(7)
const block: BlockData = {
  slot: 10,
  parentSlot: 9,
  blockhash: KEY,
  parentBlockhash: KEY,
  blockHeight: 9,
  accounts: [],
}

t.test('failures as seen in TypeScript', async t => {
  const dir = t.testdir({ store: {} })
  const { indexer, close } = openStoreAt(join(dir, 'store'))
  const next = {
    ...block,
    slot: 11,
    parentSlot: 10,
    blockhash: new Uint8Array(32),
    parentBlockhash: block.blockhash,
  }
  t.match(indexer.applyBlocks([block, next]), { isNew: true })
  t.equal(indexer.tip()?.slot, 11)
  const cases: [run: () => unknown, type: typeof NativeError | typeof RpcError, name: string][] = [
    [() => indexer.applyBlock({ ...block, slot: 13, parentSlot: 12 }), NativeError, 'notNextBlock'],
    [() => indexer.applyBlocks([next, { ...next, slot: 13 }]), NativeError, 'notNextBlock'],
    [() => openStoreAt('/dev/null/store'), NativeError, 'internal'],
    [() => encodePubkey(new Uint8Array(5)), NativeError, 'internal'],
    [() => decodePubkey('0'), RpcError, 'pubkeyDecode'],
    [() => decodePubkey('1'), RpcError, 'pubkeySize'],
    [() => decodeMemcmp('0', 'base58'), RpcError, 'memcmpBytes'],
  ]
  for (const [run, type, name] of cases) {
    const thrown = caught(run)
    t.ok(thrown instanceof type, name)
    t.match(thrown, thrown instanceof RpcError ? { name } : { code: name })
  }
  t.match(
    caught(() => indexer.applyBlock({ ...block, slot: 13, parentSlot: 12 })),
    { fields: { tipSlot: 11, slot: 13, parentSlot: 12 } },
    'the fields of a failure are typed values',
  )
  t.match(
    caught(() => decodePubkey('0"\\\n')),
    { message: 'Invalid param: could not decode pubkey 0"\\\n' },
    'a value with characters that JSON escapes',
  )
  close()
  const scoped = { ...STORE, scope: { programs: [KEY], mints: [], pubkeys: [] } }
  t.match(
    caught(() => openIndexer(join(dir, 'store'), scoped)),
    { code: 'storeOutdated' },
  )
})
const caught = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (thrown) {
    return thrown
  }
}
