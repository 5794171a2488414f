import bs58 from 'bs58'
import t from 'tap'
import { createKeypair } from '../../../src/sandbox/solana/keypair.js'
import type { LaneConfig } from '../../../src/submission/lanes/lane.js'
import { defaults } from '../../../src/submission/lanes/options.js'
import { toQuicFrame } from '../../../src/submission/lanes/quic-frame.js'
import { toQuicTpu } from '../../../src/submission/lanes/quic-tpu.js'

const SEED = Buffer.alloc(32, 7)
const { publicKey } = createKeypair(SEED)
const KEYPAIR = bs58.encode(Buffer.concat([SEED, publicKey]))

const config = (preset: string, credential: string): LaneConfig => ({
  ...defaults,
  ...{ id: 'one', kind: 'quic-frame', url: 'quic://127.0.0.1:1', tipAddresses: [] },
  ...{ preset, credential },
})

t.test('a wallet is named by its public key, and its seed stays here', t => {
  // As the Soyas client of sol-trade-sdk 11.0.1 names the same keypair.
  const name = 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB'
  t.strictSame(toQuicFrame(config('soyas', KEYPAIR)).identity, { key: name, isProtected: false })
  t.strictSame(toQuicFrame(config('soyas', 'no keypair')).identity.key, '')
  t.strictSame(toQuicFrame(config('astralane', KEYPAIR)).identity.key, KEYPAIR)
  t.strictSame(toQuicTpu(config('solami', KEYPAIR)).identity.seed, new Uint8Array(SEED))
  t.end()
})
