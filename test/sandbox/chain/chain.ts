import bs58 from 'bs58'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { Chain } from '../../../src/sandbox/chain/chain.js'
import { compileTransaction } from '../../../src/sandbox/solana/compile-transaction.js'
import { parseTransaction } from '../../../src/sandbox/solana/parse-transaction.js'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { transferTokens } from '../../../src/sandbox/solana/token-instructions.js'
import { createSampleAccounts, MINT_DECIMALS } from '../../../src/sandbox/chain/sample-accounts.js'
import { TOWER_BFT } from '../../fixtures/sandbox/lanes.js'
import { createChain, createClock, key } from '../../fixtures/sandbox/sandbox.js'

const SOL = 1_000_000_000n
const pubkeys = (updates: readonly { readonly pubkey: Uint8Array }[]) =>
  updates.map(({ pubkey }) => bs58.encode(pubkey))
const text = (bytes: Uint8Array) => bs58.encode(bytes)

const transfer = (from: ReturnType<typeof key>, to: Uint8Array, lamports: bigint, hash: string) =>
  compileTransaction([transferLamports(from.publicKey, to, lamports)], [from], bs58.decode(hash))

t.test('a transfer changes both accounts in its slot', async t => {
  const { chain, accounts, transactions } = createChain()
  const [from, to] = [key('from'), key('to').publicKey]
  chain.airdrop(from.publicKey, 10n * SOL)
  chain.tick()
  accounts.length = 0
  transactions.length = 0
  const sent = chain.send(transfer(from, to, SOL, chain.tip.blockhash))
  t.ok(sent.landed)
  t.strictSame(
    accounts.map(({ pubkey, lamports, slot, rentEpoch }) => [
      text(pubkey),
      lamports,
      slot,
      rentEpoch,
    ]),
    [
      [text(from.publicKey), 9n * SOL - 5_000n, 2, 2n ** 64n - 1n],
      [text(to), SOL, 2, 2n ** 64n - 1n],
    ],
  )
  const [record] = transactions
  t.strictSame(
    accounts.map(({ signature }) => signature),
    [record?.signature, record?.signature],
  )
  t.equal(record?.feeLamports, 5_000n)
  t.strictSame(record?.preBalances.slice(0, 2), [10n * SOL, 0n])
  t.strictSame(record?.postBalances.slice(0, 2), [9n * SOL - 5_000n, SOL])
  t.equal(chain.account(to)?.lamports, SOL)
})

t.test('blocks link to their parents, and write versions increase', async t => {
  const { chain, blocks, accounts } = createChain({ firstSlot: 7 })
  const genesis = chain.tip.blockhash
  for (let count = 0; count < 40; count++) chain.tick()
  let [parentSlot, parentBlockhash] = [6, genesis]
  for (const block of blocks) {
    t.strictSame(
      [block.parentSlot, block.parentBlockhash, block.blockHeight],
      [parentSlot, parentBlockhash, block.slot],
    )
    t.equal(chain.blockhashOf(block.slot), block.blockhash)
    parentSlot = block.slot
    parentBlockhash = block.blockhash
  }
  t.equal(blocks[0]?.slot, 7)
  t.equal(new Set(blocks.map(block => block.blockhash)).size, 40)
  const versions = accounts.map(({ writeVersion }) => writeVersion)
  t.strictSame(
    versions,
    versions.map((_version, index) => index + 1),
  )
})

t.test('a block is confirmed and final at once', async t => {
  const { chain, statuses } = createChain({ firstSlot: 7 })
  for (let count = 0; count < 3; count++) chain.tick()
  t.strictSame(
    statuses,
    ['7<6', '8<7', '9<8'].flatMap(slot =>
      ['processed', 'confirmed', 'finalized'].map(status => `${slot} ${status}`),
    ),
  )
  t.equal(chain.finalizedSlot, chain.tip.slot)
})

t.test('a block of TowerBFT is final 32 blocks later', async t => {
  const { chain, statuses } = createChain({ firstSlot: 7, ...TOWER_BFT })
  for (let count = 0; count < 40; count++) chain.tick()
  t.strictSame(statuses.slice(0, 3), ['7<6 processed', '7<6 confirmed', '7<6 finalized'])
  t.equal(statuses.filter(status => status === '7<6 finalized').length, 1, 'the first is final')
  t.ok(statuses.indexOf('8<7 finalized') > statuses.indexOf('40<39 confirmed'))
  t.ok(statuses.indexOf('8<7 finalized') < statuses.indexOf('41<40 processed'))
})

t.test('a block knows the blockhashes of no later block', async t => {
  const { chain } = createChain(TOWER_BFT)
  t.strictSame([chain.finalizedSlot, chain.tip.slot], [0, 0], 'the genesis')
  for (let count = 0; count < 40; count++) chain.tick()
  t.strictSame([chain.finalizedSlot, chain.tip.slot], [8, 40])
  t.match(chain.latestBlockhash('finalized'), { slot: 8, lastValidBlockHeight: 158 })
  for (const [slot, finalized] of [
    [8, true],
    [9, false],
    [40, false],
  ] as const) {
    const hash = bs58.decode(chain.blockhashOf(slot))
    t.equal(chain.isBlockhashValid(hash, 'finalized'), finalized)
    t.ok(chain.isBlockhashValid(hash, 'confirmed'))
  }
})

t.test('a blockhash is valid for 150 blocks', async t => {
  const { chain } = createChain()
  const from = key('from')
  chain.airdrop(from.publicKey, SOL)
  chain.tick()
  const { blockhash, lastValidBlockHeight } = chain.latestBlockhash()
  t.equal(lastValidBlockHeight, 151)
  for (let count = 0; count < 149; count++) chain.tick()
  t.equal(chain.slot, 151)
  t.ok(chain.send(transfer(from, key('to').publicKey, SOL / 10n, blockhash)).landed)
  t.ok(chain.isBlockhashValid(bs58.decode(blockhash)))
  chain.tick()
  t.notOk(chain.isBlockhashValid(bs58.decode(blockhash)))
  t.match(chain.send(transfer(from, key('to').publicKey, SOL / 20n, blockhash)), {
    landed: false,
    error: 'BlockhashNotFound',
    reason: 'Blockhash not found',
  })
})

t.test('a failed transaction pays its fee and writes its payer only', async t => {
  const { chain, accounts } = createChain()
  const from = key('from')
  chain.airdrop(from.publicKey, SOL)
  chain.tick()
  accounts.length = 0
  const sent = chain.send(transfer(from, key('to').publicKey, 5n * SOL, chain.tip.blockhash))
  t.match(sent, { landed: true, record: { error: { InstructionError: [0, { Custom: 1 }] } } })
  t.strictSame(pubkeys(accounts), [text(from.publicKey)])
  t.equal(accounts[0]?.lamports, SOL - 5_000n)
  t.equal(chain.tick().transactions.length, 1)
})

t.test('a refused transaction is in no block', async t => {
  const { chain, accounts } = createChain()
  const from = key('from')
  chain.airdrop(from.publicKey, SOL)
  chain.tick()
  accounts.length = 0
  const good = transfer(from, key('to').publicKey, SOL / 10n, chain.tip.blockhash)
  const forged = Buffer.from(good)
  forged.writeUInt8(forged.readUInt8(10) ^ 1, 10)
  const poor = transfer(key('poor'), key('to').publicKey, 1n, chain.tip.blockhash)
  const cases: [name: string, bytes: Buffer, error: string][] = [
    ['a wrong signature', forged, 'SignatureFailure'],
    ['a payer with nothing', poor, 'AccountNotFound'],
    ['no transaction', Buffer.from([1, 2, 3]), 'SanitizeFailure'],
    ['nothing', Buffer.alloc(0), 'SanitizeFailure'],
  ]
  for (const [name, bytes, error] of cases)
    t.match(chain.send(bytes), { landed: false, error }, name)
  t.strictSame(accounts, [])
  t.ok(chain.send(good).landed)
  t.match(chain.send(good), { landed: false, error: 'AlreadyProcessed' })
  t.equal(chain.tick().transactions.length, 1)
})

t.test('an emptied wallet is published with 0 lamports', async t => {
  const { chain, accounts } = createChain()
  const from = key('from')
  chain.airdrop(from.publicKey, SOL)
  chain.tick()
  accounts.length = 0
  chain.send(transfer(from, key('to').publicKey, SOL - 5_000n, chain.tip.blockhash))
  const [closed] = accounts
  t.match(closed, { lamports: 0n, rentEpoch: 0n, executable: false })
  t.strictSame(closed?.owner, ADDRESSES.system)
  t.equal(closed?.data.length, 0)
  t.equal(chain.account(from.publicKey), undefined)
})

t.test('a block has the time of its end, which its transactions do not see', async t => {
  const { chain, clock, accounts, blocks } = createChain()
  const clocks = () =>
    accounts
      .filter(({ pubkey }) => Buffer.compare(pubkey, ADDRESSES.clock) === 0)
      .map(({ data, slot }) => {
        const view = Buffer.from(data)
        return [slot, Number(view.readBigUInt64LE(0)), Number(view.readBigInt64LE(32))]
      })
  chain.tick()
  clock.advance(5_000)
  chain.tick()
  clock.advance(-60_000)
  chain.tick()
  t.strictSame(clocks(), [
    [1, 1, 1_800_000_000],
    [1, 1, 1_800_000_000],
    [2, 2, 1_800_000_000],
    [2, 2, 1_800_000_005],
    [3, 3, 1_800_000_005],
    // The clock of the machine has stepped back.
    [3, 3, 1_800_000_005],
    [4, 4, 1_800_000_005],
  ])
  t.strictSame(
    blocks.map(({ blockTime }) => blockTime),
    [1_800_000_000, 1_800_000_005, 1_800_000_005],
  )
  t.equal(chain.svm.getClock().unixTimestamp, 1_800_000_005n)
})

t.test('the same seed and clock give the same chain, another time another one', async t => {
  const run = (seed: string, startMs: number) => {
    const chain = new Chain({ seed }, createClock(startMs).now)
    chain.start()
    return chain.tick().blockhash
  }
  t.equal(run('a', 1), run('a', 1))
  t.not(run('a', 1), run('b', 1))
  t.not(run('a', 1), run('a', 2))
})

t.test(
  'a bundle is next to itself in the block, each member on what the last one left',
  async t => {
    const { chain, accounts, blocks } = createChain()
    const [first, second, third] = [key('first'), key('second'), key('third')]
    chain.airdrop(first.publicKey, 10n * SOL)
    chain.tick()
    accounts.length = 0
    const hash = chain.tip.blockhash
    const sent = chain.sendBundle([
      transfer(first, second.publicKey, 5n * SOL, hash),
      transfer(second, third.publicKey, 2n * SOL, hash),
      transfer(third, first.publicKey, SOL, hash),
    ])
    t.match(sent, { landed: true, records: [{ index: 0 }, { index: 1 }, { index: 2 }] })
    t.equal(chain.account(first.publicKey)?.lamports, 6n * SOL - 5_000n)
    t.equal(chain.account(third.publicKey)?.lamports, SOL - 5_000n)
    t.equal(accounts.length, 6)
    chain.tick()
    t.equal(blocks.at(-1)?.transactions.length, 3)
  },
)

t.test('a bundle with a failing member is rolled back', async t => {
  const { chain, accounts, transactions } = createChain()
  const [from, dumped] = [key('from'), key('dumped')]
  chain.airdrop(from.publicKey, 10n * SOL)
  const odd = {
    lamports: 3n * SOL,
    owner: ADDRESSES.system,
    executable: false,
    rentEpoch: 42n,
    data: new Uint8Array(0),
  }
  chain.load(dumped.publicKey, odd)
  chain.tick()
  const hash = chain.tip.blockhash
  const fresh = key('fresh').publicKey
  const good = [
    transfer(from, fresh, SOL, hash),
    // Emptied, and so deleted, until the bundle is rolled back.
    transfer(dumped, fresh, 3n * SOL - 5_000n, hash),
  ]
  const forged = Buffer.from(transfer(from, fresh, 2n * SOL, hash))
  forged.writeUInt8(forged.readUInt8(10) ^ 1, 10)
  const cases: [name: string, bad: Buffer, error: unknown][] = [
    ['fails', transfer(from, fresh, 500n * SOL, hash), { InstructionError: [0, { Custom: 1 }] }],
    ['is refused', forged, 'SignatureFailure'],
    ['is not wanted', Buffer.alloc(0), undefined],
    ['is too old', transfer(from, fresh, 2n, bs58.encode(fresh)), 'BlockhashNotFound'],
    ['is no transaction', Buffer.from([1, 2]), 'SanitizeFailure'],
    ['has no payer', transfer(key('poor'), fresh, 1n, hash), 'AccountNotFound'],
    ['is there twice', good[0] ?? Buffer.alloc(0), 'AlreadyProcessed'],
  ]
  for (const [name, bad, error] of cases) {
    const before = [from.publicKey, dumped.publicKey, fresh].map(each => chain.account(each))
    accounts.length = 0
    transactions.length = 0
    const sent = chain.sendBundle([...good, ...(error === undefined ? [] : [bad])], () => false)
    if (error !== undefined) t.match(sent, { landed: false, index: 2, error }, name)
    else t.match(sent, { landed: false, index: 1, error: 'CommitCancelled' }, name)
    t.strictSame(
      [from.publicKey, dumped.publicKey, fresh].map(each => chain.account(each)),
      before,
      `${name}: accounts are what they were`,
    )
    t.strictSame([accounts, transactions], [[], []], `${name}: nothing is published`)
  }
  t.strictSame(chain.account(dumped.publicKey), odd)
  t.match(chain.sendBundle(good), { landed: true }, 'and the valid ones may be sent again')
  t.equal(chain.account(dumped.publicKey), undefined)
  t.match(chain.sendBundle(good), { landed: false, index: 0, error: 'AlreadyProcessed' })
})

t.test('token balances are rolled back with their accounts', async t => {
  const { chain, transactions } = createChain()
  const { mint, holders, payer } = createSampleAccounts(chain)
  chain.tick()
  const [a, b] = holders
  if (a === undefined || b === undefined) throw new Error('there are no holders')
  const move = (amount: bigint) =>
    compileTransaction(
      [
        transferTokens(
          { from: a.account, to: b.account, mint, amount, decimals: MINT_DECIMALS },
          a.wallet.publicKey,
        ),
      ],
      [a.wallet],
      bs58.decode(chain.tip.blockhash),
    )
  const poor = transfer(payer, key('x').publicKey, 10n ** 18n, chain.tip.blockhash)
  t.match(chain.sendBundle([move(1_000_000n), poor]), { landed: false, index: 1 })
  transactions.length = 0
  t.ok(chain.send(move(7n)).landed)
  const [
    { preTokenBalances, postTokenBalances } = { preTokenBalances: [], postTokenBalances: [] },
  ] = transactions
  const [before, after] = [preTokenBalances[0]?.amount ?? 0n, postTokenBalances[0]?.amount ?? 0n]
  t.equal(before - after, 7n, 'the balance before is the one without the bundle')
})

t.test('an expired blockhash differs from an unknown one', async t => {
  const { chain } = createChain()
  const from = key('from')
  chain.airdrop(from.publicKey, SOL)
  const { blockhash } = chain.tick()
  const age = (hash: string) =>
    chain.blockhashAge(parseTransaction(transfer(from, from.publicKey, 1n, hash)))
  t.equal(age(blockhash), 'recent')
  for (let count = 0; count < 150; count++) chain.tick()
  t.equal(age(blockhash), 'expired')
  t.equal(age(bs58.encode(new Uint8Array(32).fill(7))), 'unknown')
})
