import bs58 from 'bs58'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import {
  type Ask,
  CONFIRMED,
  FINALIZED,
  isStatus,
  nameOf,
  PROCESSED,
} from '../../fixtures/sandbox/sandbox.js'
import { EVERYTHING, startGeyser } from '../../fixtures/sandbox/geyser.js'
import { TOWER_BFT } from '../../fixtures/sandbox/lanes.js'

t.test('a confirmed slot is sent whole and in order', async t => {
  const { chain, open, transfer } = await startGeyser(t)
  const feed = open({ ...EVERYTHING, commitment: CONFIRMED, fromSlot: '2' })
  for (let count = 0; count < 3; count++) transfer()
  chain.tick()
  chain.tick()
  const names = (await feed.until(isStatus(3, FINALIZED))).map(nameOf)
  const at2 = names.filter(name => name.endsWith('@2'))
  // Five of the chain, four vote accounts, the payers and four token accounts: only the last write
  // of each is sent.
  t.equal(at2.filter(name => name === 'account@2').length, 16)
  const pair = ['transaction@2', 'status@2']
  t.strictSame(at2.slice(0, 1), ['slot0@2'])
  t.strictSame(
    at2.slice(-9),
    [...pair, ...pair, ...pair, 'meta@2', 'slot1@2', 'slot2@2'],
    'transactions, then block meta, then the statuses',
  )
  t.ok(names.indexOf('slot1@2') < names.indexOf('account@3'))
})

t.test('an account that is written twice in a slot is sent once, with its last state', async t => {
  const { chain, open } = await startGeyser(t)
  const pubkey = Buffer.alloc(32, 9)
  const text = bs58.encode(pubkey)
  const ask = { accounts: { a: { account: [text] } }, slots: { s: {} }, fromSlot: '2' }
  const [confirmed, processed] = [
    open({ ...ask, commitment: CONFIRMED }),
    open({ ...ask, commitment: PROCESSED }),
  ]
  chain.airdrop(pubkey, 1_000_000_000n)
  chain.airdrop(pubkey, 2_000_000_000n)
  chain.tick()
  const lamports = async (feed: ReturnType<typeof open>) =>
    (await feed.until(isStatus(2, CONFIRMED))).flatMap(({ account }) =>
      account?.account ? [account.account.lamports] : [],
    )
  t.strictSame(await lamports(confirmed), ['3000000000'])
  t.strictSame(await lamports(processed), ['1000000000', '3000000000'])
})

t.test('one event confirms and finalizes a slot, at each level', async t => {
  const { chain, open, transfer } = await startGeyser(t)
  for (let count = 0; count < 8; count++) {
    transfer()
    chain.tick()
  }
  for (const commitment of [PROCESSED, CONFIRMED, FINALIZED]) {
    const feed = open({ ...EVERYTHING, commitment, fromSlot: '2' })
    const names = (await feed.until(isStatus(9, FINALIZED))).map(nameOf)
    const decided = (slot: number) => names.filter(name => RegExp(`slot[12]@${slot}$`).test(name))
    t.strictSame(decided(4), ['slot1@4', 'slot2@4'])
    t.strictSame(decided(5), ['slot2@5', 'slot1@5'])
    t.strictSame(decided(6), ['slot1@6', 'slot2@6'])
    t.strictSame(decided(7), ['slot2@7'], 'finalized without a confirmation of its own')
    for (let slot = 2; slot < 9; slot++) {
      const statuses = decided(slot).filter(name => commitment < FINALIZED || /slot2/.test(name))
      const first = names.findIndex(name => statuses.includes(name))
      t.ok(first > names.lastIndexOf(`account@${slot}`), 'the data is before its status')
      t.ok(first > names.lastIndexOf(`meta@${slot}`))
    }
  }
})

t.test('a slot of TowerBFT is final 32 slots later', async t => {
  const { chain, open, transfer } = await startGeyser(t, TOWER_BFT)
  const processed = open({ ...EVERYTHING, commitment: PROCESSED })
  const finalized = open({ ...EVERYTHING, commitment: FINALIZED, fromSlot: '2' })
  // A pong proves that the server has applied the filters.
  processed.ask({ ping: { id: 1 } })
  await processed.until(update => update.pong !== undefined)
  transfer()
  const early = await processed.until(update => update.transactionStatus !== undefined)
  t.strictSame(early.map(nameOf), [
    'account@2',
    'account@2',
    'account@2',
    'transaction@2',
    'status@2',
  ])
  for (let count = 0; count < 33; count++) chain.tick()
  const late = (await finalized.until(isStatus(2, FINALIZED))).map(nameOf)
  t.equal(late.at(-2), 'meta@2')
  t.ok(late.indexOf('slot1@34') < late.indexOf('account@2'), 'not before slot 34 was confirmed')
  // Slots that became final after the request are sent, too.
  t.ok(late.lastIndexOf('account@1') < late.indexOf('account@2'))
  t.notOk(late.includes('account@3'))
})

t.test('filter_by_commitment and interslot_updates select slot statuses', async t => {
  const { chain, open } = await startGeyser(t)
  const cases: [name: string, filter: object, commitment: number, statuses: number[]][] = [
    ['all three', {}, CONFIRMED, [0, 1, 2]],
    ['own only', { filterByCommitment: true }, CONFIRMED, [1]],
    ['own only, processed', { filterByCommitment: true }, PROCESSED, [0]],
    ['between slots too', { interslotUpdates: true }, CONFIRMED, [3, 5, 4, 0, 1, 2]],
  ]
  for (const [name, filter, commitment, statuses] of cases) {
    const fromSlot = String(chain.slot)
    const feed = open({ slots: { s: filter }, blocksMeta: { m: {} }, commitment, fromSlot })
    chain.tick()
    chain.tick()
    const updates = await feed.until(({ blockMeta }) => blockMeta?.slot === String(chain.slot - 1))
    t.strictSame(
      updates.flatMap(({ slot }) => (slot?.slot === fromSlot ? [Number(slot.status)] : [])),
      statuses,
      name,
    )
  }
})

t.test('accounts filters select accounts', async t => {
  const { chain, open, samples } = await startGeyser(t)
  const mint = bs58.decode(samples.mint)
  const token = bs58.encode(ADDRESSES.token)
  const labelsOf = async (filter: object): Promise<number> => {
    const feed = open({
      accounts: { wanted: filter },
      slots: { s: {} },
      commitment: CONFIRMED,
      fromSlot: '1',
    })
    const updates = await feed.until(isStatus(1, CONFIRMED))
    const found = updates.filter(({ account }) => account !== undefined)
    t.ok(found.every(({ filters }) => filters.join() === 'wanted'))
    feed.close()
    return found.length
  }
  const memcmp = { memcmp: { offset: '0', bytes: mint } }
  const cases: [name: string, filter: object, count: number][] = [
    ['by account', { account: [samples.mint, samples.wallet] }, 2],
    ['by account and owner', { account: [samples.mint, samples.wallet], owner: [token] }, 1],
    ['by mint bytes', { owner: [token], filters: [memcmp] }, 30],
    ['in base58', { filters: [{ memcmp: { offset: '0', base58: samples.mint } }] }, 30],
    [
      'in base64',
      { filters: [{ memcmp: { offset: '0', base64: Buffer.from(mint).toString('base64') } }] },
      30,
    ],
    ['beyond the data', { filters: [{ memcmp: { offset: '99999999', base58: '2' } }] }, 0],
    ['by size', { owner: [token], filters: [{ datasize: '82' }] }, 12],
    ['sizes that exclude each other', { filters: [{ datasize: '82' }, { datasize: '165' }] }, 0],
    ['token accounts', { filters: [{ tokenAccountState: true }] }, 54],
    ['by mint and size', { filters: [memcmp, { datasize: '165' }] }, 30],
    ['lamports eq', { filters: [{ lamports: { eq: '1488440' } }, memcmp] }, 30],
    ['lamports gt', { filters: [{ lamports: { gt: '1488440' } }, memcmp] }, 0],
    ['lamports lt', { filters: [{ lamports: { lt: '1488441' } }, memcmp] }, 30],
    ['lamports ne', { filters: [{ lamports: { ne: '1488440' } }, memcmp] }, 0],
    ['without a signature', { owner: [token], nonemptyTxnSignature: false }, 1],
    ['with a signature', { filters: [memcmp], nonemptyTxnSignature: true }, 30],
  ]
  for (const [name, filter, count] of cases) t.equal(await labelsOf(filter), count, name)
  t.equal(chain.slot, 2)
})

t.test('an update has the labels of all matching filters', async t => {
  const { open, samples } = await startGeyser(t)
  const feed = open({
    accounts: { one: { account: [samples.mint] }, two: {}, three: { account: [samples.wallet] } },
    commitment: CONFIRMED,
    fromSlot: '1',
  })
  const [found] = (
    await feed.until(({ account }) => bs58.encode(account?.account?.pubkey ?? []) === samples.mint)
  ).slice(-1)
  t.strictSame(found?.filters, ['one', 'two'])
})

t.test('transactions filters select transactions', async t => {
  const { chain, open, transfer, sampleAccounts } = await startGeyser(t)
  transfer()
  transfer()
  const [first] = sampleAccounts.holders
  const wallet = bs58.encode(first?.wallet.publicKey ?? [])
  const countOf = async (filter: object): Promise<number> => {
    const feed = open({
      transactions: { t: filter },
      transactionsStatus: { ts: filter },
      slots: { s: {} },
      commitment: CONFIRMED,
      fromSlot: '2',
    })
    const updates = await feed.until(isStatus(2, CONFIRMED))
    const found = updates.filter(({ transaction }) => transaction !== undefined)
    t.equal(updates.filter(one => one.transactionStatus !== undefined).length, found.length)
    feed.close()
    return found.length
  }
  chain.tick()
  const signature = bs58.encode(chain.tip.transactions[1]?.signature ?? [])
  const cases: [name: string, filter: object, count: number][] = [
    ['all', {}, 2],
    ['votes', { vote: true }, 0],
    ['no votes', { vote: false }, 2],
    ['failed', { failed: true }, 0],
    ['succeeded', { failed: false }, 2],
    ['by signature', { signature }, 1],
    ['including', { accountInclude: [wallet] }, 1],
    ['excluding', { accountExclude: [wallet] }, 1],
    ['required', { accountRequired: [wallet, bs58.encode(ADDRESSES.token)] }, 1],
    ['required but absent', { accountRequired: [wallet, bs58.encode(ADDRESSES.system)] }, 0],
  ]
  for (const [name, filter, count] of cases) t.equal(await countOf(filter), count, name)
})

t.test('data slices cut the data', async t => {
  const { open, samples } = await startGeyser(t)
  const feed = open({
    accounts: { a: { account: [samples.mint] } },
    accountsDataSlice: [
      { offset: '44', length: '1' },
      { offset: '80', length: '10' },
      { offset: '36', length: '8' },
    ],
    commitment: CONFIRMED,
    fromSlot: '1',
  })
  const [update] = await feed.until(({ account }) => account !== undefined)
  const data = Buffer.from(update?.account?.account?.data ?? [])
  t.equal(data.length, 9, 'one slice reaches beyond the data and is omitted')
  t.equal(data[0], 6)
})

t.test('a new request on the stream replaces the previous one', async t => {
  const { chain, open, samples } = await startGeyser(t)
  const feed = open({ slots: { old: {} }, commitment: CONFIRMED })
  feed.ask({ ping: { id: 7 }, blocksMeta: { ignored: {} } })
  t.strictSame((await feed.until(({ pong }) => pong !== undefined)).map(nameOf), ['pong 7'])
  chain.tick()
  await feed.until(isStatus(2, CONFIRMED))
  feed.ask({
    blocksMeta: { new: {} },
    accounts: { a: { account: [samples.wallet] } },
    commitment: CONFIRMED,
  })
  feed.ask({ ping: { id: -8 } })
  await feed.until(({ pong }) => pong?.id === -8)
  chain.tick()
  const updates = await feed.until(({ blockMeta }) => blockMeta !== undefined)
  t.strictSame(updates.map(nameOf), ['meta@3'])
  t.strictSame(updates[0]?.filters, ['new'])
})

t.test('invalid requests are refused', async t => {
  const { open, samples } = await startGeyser(t)
  const cases: [name: string, ask: Ask, details: RegExp][] = [
    [
      'a bad pubkey',
      { accounts: { a: { account: ['x0'] } } },
      /failed to create filter: invalid pubkey x0/,
    ],
    ['a bad owner', { accounts: { a: { owner: ['abc'] } } }, /invalid pubkey abc/],
    [
      'five filters',
      { accounts: { a: { filters: Array.from('12345', datasize => ({ datasize })) } } },
      /more than 4 filters/,
    ],
    [
      'long memcmp',
      { accounts: { a: { filters: [{ memcmp: { offset: '0', bytes: Buffer.alloc(129) } }] } } },
      /memcmp data exceeds 128 bytes/,
    ],
    [
      'empty memcmp',
      { accounts: { a: { filters: [{ memcmp: { offset: '0' } }] } } },
      /memcmp needs data/,
    ],
    ['an empty member', { accounts: { a: { filters: [{}] } } }, /empty or not known/],
    ['a long label', { slots: { ['x'.repeat(33)]: {} } }, /filter name exceeds 32 bytes/],
    ['a bad signature', { transactions: { t: { signature: samples.mint } } }, /invalid signature/],
    ['blocks with transactions', { blocks: { b: {} } }, /transactions are not served here/],
    [
      'blocks with entries',
      { blocks: { b: { includeTransactions: false, includeEntries: true } } },
      /entries are not served here/,
    ],
    [
      'blocks of some accounts',
      { blocks: { b: { includeTransactions: false, accountInclude: [samples.mint] } } },
      /account_include of blocks is not served/,
    ],
    ['an unknown level', { slots: { s: {} }, commitment: 9 }, /commitment level 9/],
  ]
  for (const [name, ask, details] of cases)
    t.match(await open(ask).ended(), { code: 3, details }, name)
})

t.test('the entries of a block end with its hash, and its footer comes before it', async t => {
  for (const finality of [{}, TOWER_BFT]) {
    const { chain, open, transfer } = await startGeyser(t, finality)
    // A filter `f` of footers, which the client does not know.
    const footers = Uint8Array.of(98, 3, 10, 1, 102)
    const feed = open()
    feed.ask(
      { entry: { e: {} }, blocksMeta: { m: {} }, commitment: CONFIRMED, fromSlot: '2' },
      footers,
    )
    for (let count = 0; count < 65; count++) transfer()
    chain.tick()
    chain.tick()
    const updates = await feed.until(({ blockMeta }) => blockMeta?.slot === '2')
    const names = updates.flatMap(({ filters }) => filters)
    t.strictSame(names, [...'eee', ...(chain.isAlpenglow ? ['f'] : []), 'm'])
    const entries = updates.flatMap(({ entry }) => entry ?? [])
    const shapes = entries.map(one => [
      one.index,
      one.executedTransactionCount,
      one.startingTransactionIndex,
    ])
    t.strictSame(shapes, [
      ['0', '64', '0'],
      ['1', '1', '64'],
      ['2', '0', '65'],
    ])
    const meta = updates.at(-1)?.blockMeta
    t.equal(bs58.encode(entries.at(-1)?.hash ?? new Uint8Array(0)), meta?.blockhash)
    t.match(meta, { executedTransactionCount: '65', entriesCount: '3' })
  }
})

t.test('a block contains the last write of each account', async t => {
  const { chain, open, transfer } = await startGeyser(t)
  const whole = { includeAccounts: true, includeTransactions: false }
  const feed = open({
    blocks: { whole, bare: { includeTransactions: false } },
    accounts: { a: {} },
    slots: { s: {} },
    commitment: CONFIRMED,
    fromSlot: '2',
  })
  for (let count = 0; count < 3; count++) transfer()
  chain.tick()
  const updates = await feed.until(isStatus(2, CONFIRMED))
  const accounts = updates.flatMap(({ account }) =>
    account?.slot === '2' ? [account.account] : [],
  )
  const [update, ...others] = updates.filter(({ block }) => block?.slot === '2')
  t.equal(others.length, 0, 'one message for both filters')
  t.strictSame(update?.block?.accounts, accounts)
  t.match(update?.block, {
    blockhash: chain.tip.blockhash,
    parentBlockhash: chain.tip.parentBlockhash,
    parentSlot: '1',
    blockHeight: { blockHeight: '2' },
    updatedAccountCount: String(accounts.length),
    executedTransactionCount: '3',
    entriesCount: '2',
  })
})
