import bs58 from 'bs58'
import t from 'tap'
import type { AccountUpdate } from '../../../src/sandbox/chain/block.js'
import { TOWER_BFT } from '../../fixtures/sandbox/lanes.js'
import { createChain } from '../../fixtures/sandbox/sandbox.js'

const VOTE = 'Vote111111111111111111111111111111111111111'
const NAMES: Readonly<Record<string, string>> = {
  SysvarC1ock11111111111111111111111111111111: 'clock',
  SysvarS1otHashes111111111111111111111111111: 'hashes',
  SysvarRecentB1ockHashes11111111111111111111: 'blockhashes',
  SysvarS1otHistory11111111111111111111111111: 'history',
}

const nameOf = ({ pubkey, owner, data }: AccountUpdate): string =>
  NAMES[bs58.encode(pubkey)] ??
  (bs58.encode(owner) === VOTE ? `vote ${data.length}` : `nanoseconds ${data.length}`)

t.test('a block has these writes of the chain itself, and no other', async t => {
  const { chain, accounts, clock } = createChain({ validatorCount: 2 })
  chain.tick()
  accounts.length = 0
  clock.advance(200)
  chain.tick()
  const [first, ...rest] = accounts
  t.match(first, { slot: 2 }, 'the start of the block was published with the one before')
  t.strictSame(
    [first, ...rest].map(one => one && nameOf(one)),
    [
      'vote 3762',
      'vote 3762',
      'clock',
      'nanoseconds 8',
      'blockhashes',
      'history',
      'clock',
      'hashes',
    ],
  )
  t.strictSame(
    accounts.map(({ signature }) => signature),
    Array(8).fill(undefined),
  )
  const at = (index: number) => Buffer.from(accounts[index]?.data ?? [])
  t.equal(at(3).readBigInt64LE(), 1_800_000_000_200_000_000n)
  t.equal(at(4).length, 6_008)
  t.strictSame(at(4).subarray(8, 40), Buffer.from(bs58.decode(chain.tip.blockhash)))
  t.equal(at(4).readBigUInt64LE(), 2n)
  t.equal(at(5).length, 131_097)
  t.equal(at(5).readBigUInt64LE(131_089), 3n, 'the next slot')
  t.equal(at(7).length, 20_488)
  t.equal(at(7).readBigUInt64LE(8), 2n, 'the parent')
  t.ok(accounts.every(({ lamports, data }) => lamports === BigInt(128 + data.length) * 5_080n))
})

t.test('SlotHistory has a bit for each block, and none for a skipped slot', async t => {
  const { chain, accounts } = createChain()
  chain.skip(3)
  chain.skip(4)
  for (let count = 0; count < 6; count++) chain.tick()
  const history = accounts.findLast(update => nameOf(update) === 'history')
  t.equal(Buffer.from(history?.data ?? []).readUInt16LE(9), 0b1_1110_0111)
})

t.test('a vote account has one vote, and credits beyond 2^53', async t => {
  const { chain, accounts } = createChain({ validatorCount: 1 })
  for (let count = 0; count < 20; count++) chain.tick()
  const vote = accounts.findLast(update => nameOf(update).startsWith('vote'))
  const data = Buffer.from(vote?.data ?? [])
  t.equal(data.readUInt32LE(), 3, 'version 4')
  const votesAt = 4 + 4 * 32 + 2 + 2 + 8 + 1 + 48
  t.equal(data.readBigUInt64LE(votesAt), 1n)
  t.equal(data.readBigUInt64LE(votesAt + 9), 12n, 'for the block of eight slots before')
  t.equal(data.readBigUInt64LE(votesAt + 22), 19n, 'the root')
  t.equal(data.readBigUInt64LE(votesAt + 86), 2n ** 64n - 1n)
})

t.test('a block of TowerBFT has its time from its start, and no vote is written', async t => {
  const { chain, accounts, blocks, clock } = createChain(TOWER_BFT)
  clock.advance(1_000)
  chain.tick()
  clock.advance(1_000)
  accounts.length = 0
  chain.tick()
  t.strictSame(accounts.map(nameOf), ['blockhashes', 'history', 'clock', 'hashes'])
  t.strictSame(
    blocks.map(({ blockTime }) => blockTime),
    [1_800_000_000, 1_800_000_001],
  )
})
