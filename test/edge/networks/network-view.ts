import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { defaults as processDefaults } from '../../../src/config/sections/process-options.js'
import { NetworkView } from '../../../src/edge/networks/network-view.js'
import { openIndexer } from '../../../src/native/indexer.js'
import { defaults } from '../../../src/rpc/options.js'
import { createLog } from '../../../src/shared/log.js'
import { setCurrentGeneration, storesPath } from '../../../src/storage/generations.js'
import { POOLS, STORE } from '../../fixtures/rpc/store.js'
import { askText } from '../../fixtures/rpc/vectors.js'

const KEY = '1'.repeat(32)
const hash = (slot: number): Uint8Array => {
  const bytes = new Uint8Array(32)
  new DataView(bytes.buffer).setUint32(0, slot)
  return bytes
}

type Chain = { readonly blockCount: number; readonly slotMs: number; readonly pauseS?: number }

/**
 * A view of a store whose `blockCount` blocks came `slotMs` apart, the last one just now; in their
 * middle the chain paused.
 */
const open = (t: Test, { blockCount, slotMs, pauseS = 0 }: Chain) => {
  const dataDir = t.testdir()
  const dir = join(storesPath(dataDir, 'main'), '1')
  mkdirSync(dir, { recursive: true })
  const indexer = openIndexer(dir, STORE)
  const lastMs = Date.now()
  const blocks = Array.from({ length: blockCount }, (_, index) => ({
    slot: index + 1,
    parentSlot: index,
    blockHeight: index,
    blockhash: hash(index + 1),
    parentBlockhash: hash(index),
    blockTime:
      Math.floor((lastMs - (blockCount - 1 - index) * slotMs) / 1_000) -
      (index < blockCount / 2 ? pauseS : 0),
    accounts: [],
    root: index,
  }))
  indexer.applyBlocks(blocks)
  indexer.close()
  setCurrentGeneration(storesPath(dataDir, 'main'), '1')
  const clock = { nowMs: 1_000_000 }
  const config = {
    dataDir,
    store: { ...STORE, readerSecondsMax: 10 },
    pools: POOLS,
    rpc: defaults,
    processes: processDefaults,
    networks: [{ id: 'main' }],
  }
  const view = new NetworkView(config, 'main', {
    calls: {
      onCall() {},
      onFault: fault => {
        throw fault
      },
      now: () => clock.nowMs,
    },
    log: createLog('edge', () => {}),
    isLagging: () => false,
  })
  t.teardown(() => view.close())
  view.refresh(clock.nowMs)
  return { view, clock }
}

const call = async (view: NetworkView, method: string, ...params: unknown[]): Promise<string> =>
  askText(view.dispatch, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))

const UNHEALTHY =
  '{"jsonrpc":"2.0","error":{"code":-32005,"message":"Node is unhealthy","data":{"numSlotsBehind":null}},"id":1}'

const cases = [
  { name: 'of 150 ms', blockCount: 500, slotMs: 150, lifeMs: 22_500 },
  { name: 'of 200 ms', blockCount: 500, slotMs: 200, lifeMs: 30_000 },
  { name: 'of 400 ms', blockCount: 500, slotMs: 400, lifeMs: 60_000 },
  { name: 'of 50 ms: their times say too little', blockCount: 500, slotMs: 50, lifeMs: 10_000 },
  { name: 'of a chain that stood still', blockCount: 500, slotMs: 5_000, lifeMs: 60_000 },
  { name: 'of 200 ms after an hour', blockCount: 500, slotMs: 200, pauseS: 3_600, lifeMs: 30_000 },
  { name: 'of 400 ms of a new store', blockCount: 200, slotMs: 400, lifeMs: 60_000 },
  { name: 'too few to tell', blockCount: 30, slotMs: 400, lifeMs: 30_000 },
]
for (const { name, lifeMs, ...chain } of cases)
  t.test(`a silent feed has no blockhash after 150 blocks ${name}`, async t => {
    const { view, clock } = open(t, chain)
    const { blockCount } = chain
    const at = async (ageMs: number): Promise<readonly string[]> => {
      clock.nowMs = 1_000_000 + ageMs
      view.refresh(clock.nowMs)
      return [
        await call(view, 'getLatestBlockhash'),
        await call(view, 'getLatestBlockhash', { commitment: 'confirmed' }),
        await call(view, 'isBlockhashValid', KEY),
      ]
    }
    // The age of the first tip is that of its block time, which is in whole seconds.
    for (const reply of await at(lifeMs - 3_000)) t.match(reply, '"result"')
    t.strictSame(await at(lifeMs + 1_000), [UNHEALTHY, UNHEALTHY, UNHEALTHY])
    t.equal(await call(view, 'getSlot', { commitment: 'confirmed' }), slotReply(blockCount))
    t.equal(await call(view, 'getSlot'), slotReply(blockCount - 1))
    t.match(await call(view, 'getBalance', KEY), '"value":0')
  })

const slotReply = (slot: number): string => `{"jsonrpc":"2.0","result":${slot},"id":1}`
