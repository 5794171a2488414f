import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { startSandboxChain, type SandboxChainOptions } from '../../../src/sandbox/sandbox-chain.js'
import { createTransfers } from '../../../src/sandbox/chain/traffic.js'
import {
  type Ask,
  CONFIRMED,
  createClock,
  FINALIZED,
  isStatus,
  nameOf,
  openFeed,
  PROCESSED,
  toRequest,
} from '../../fixtures/sandbox/sandbox.js'
import { yellowstone } from '../../fixtures/sandbox/yellowstone.js'

const start = async (t: Test, options: Partial<SandboxChainOptions> = {}) => {
  const clock = createClock()
  const sandbox = await startSandboxChain({ slotMs: 0, seed: 'test', ...options }, clock.now)
  t.teardown(() => sandbox.close())
  const open = (ask?: Ask) => {
    const feed = openFeed(sandbox.geyserUrl)
    t.teardown(() => feed.close())
    if (ask !== undefined) feed.ask(ask)
    return feed
  }
  return {
    ...sandbox,
    clock,
    open,
    transfer: createTransfers(sandbox.chain, sandbox.sampleAccounts),
  }
}

const EVERYTHING = {
  accounts: { a: {} },
  slots: { s: {} },
  transactions: { t: {} },
  transactionsStatus: { ts: {} },
  blocksMeta: { m: {} },
}

t.test('a confirmed slot is sent whole and in order', async t => {
  const { chain, open, transfer } = await start(t)
  const feed = open({ ...EVERYTHING, commitment: CONFIRMED, fromSlot: '2' })
  for (let count = 0; count < 3; count++) transfer()
  chain.tick()
  chain.tick()
  const names = (await feed.until(isStatus(3, CONFIRMED))).map(nameOf)
  const at2 = names.filter(name => name.endsWith('@2'))
  // The clock, the payers and four token accounts: only the last write of each is sent.
  t.equal(at2.filter(name => name === 'account@2').length, 8)
  const pair = ['transaction@2', 'status@2']
  t.strictSame(at2.slice(0, 1), ['slot0@2'])
  t.strictSame(
    at2.slice(-8),
    [...pair, ...pair, ...pair, 'meta@2', 'slot1@2'],
    'transactions, then block meta, then the status',
  )
  t.ok(names.indexOf('slot1@2') < names.indexOf('account@3'))
})

t.test('an account that is written twice in a slot is sent once, with its last state', async t => {
  const { chain, open } = await start(t)
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

t.test('processed is sent immediately, finalized 32 slots later', async t => {
  const { chain, open, transfer } = await start(t)
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
  const { chain, open } = await start(t)
  const cases: [name: string, filter: object, commitment: number, statuses: number[]][] = [
    ['all three', {}, CONFIRMED, [0, 1]],
    ['own only', { filterByCommitment: true }, CONFIRMED, [1]],
    ['own only, processed', { filterByCommitment: true }, PROCESSED, [0]],
    ['between slots too', { interslotUpdates: true }, CONFIRMED, [3, 5, 4, 0, 1]],
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
  const { chain, open, samples } = await start(t)
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
    ['lamports eq', { filters: [{ lamports: { eq: '2039280' } }, memcmp] }, 30],
    ['lamports gt', { filters: [{ lamports: { gt: '2039280' } }, memcmp] }, 0],
    ['lamports lt', { filters: [{ lamports: { lt: '2039281' } }, memcmp] }, 30],
    ['lamports ne', { filters: [{ lamports: { ne: '2039280' } }, memcmp] }, 0],
    ['without a signature', { owner: [token], nonemptyTxnSignature: false }, 1],
    ['with a signature', { filters: [memcmp], nonemptyTxnSignature: true }, 30],
  ]
  for (const [name, filter, count] of cases) t.equal(await labelsOf(filter), count, name)
  t.equal(chain.slot, 2)
})

t.test('an update has the labels of all matching filters', async t => {
  const { open, samples } = await start(t)
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
  const { chain, open, transfer, sampleAccounts } = await start(t)
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
  const { open, samples } = await start(t)
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
  t.equal(data.length, 9, 'one slice reaches beyond the data and is left out')
  t.equal(data[0], 6)
})

t.test('a new request on the stream replaces the previous one', async t => {
  const { chain, open, samples } = await start(t)
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
  const { open, samples } = await start(t)
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
    ['entries', { entry: { e: {} } }, /entry is not served here/],
    ['an unknown level', { slots: { s: {} }, commitment: 9 }, /commitment level 9/],
  ]
  for (const [name, ask, details] of cases)
    t.match(await open(ask).ended(), { code: 3, details }, name)
})

t.test('a block contains the last write of each account', async t => {
  const { chain, open, transfer } = await start(t)
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
  })
})

t.test('a replay starts within the log and not before it', async t => {
  const { chain, open } = await start(t, { geyser: { replaySlotsMax: 40 } })
  for (let count = 0; count < 60; count++) chain.tick()
  const oldest = chain.slot - 39
  t.match(
    await open({
      blocksMeta: { m: {} },
      commitment: CONFIRMED,
      fromSlot: String(oldest - 1),
    }).ended(),
    {
      code: 11,
      details: `broadcast from ${oldest - 1} is not available, last available: ${oldest}`,
    },
  )
  const ask = { blocksMeta: { m: {} }, fromSlot: String(oldest) }
  const feed = open({ ...ask, commitment: CONFIRMED })
  const finalized = open({ ...ask, commitment: FINALIZED })
  const slotsOf = async (one: ReturnType<typeof open>, last: number) =>
    (await one.until(({ blockMeta }) => blockMeta?.slot === String(last))).map(({ blockMeta }) =>
      Number(blockMeta?.slot),
    )
  const range = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_none, index) => from + index)
  t.strictSame(await slotsOf(feed, 61), range(oldest, 61))
  t.strictSame(await slotsOf(finalized, 29), range(oldest, 29))
  // And continues without a gap into new slots.
  chain.tick()
  t.strictSame(await slotsOf(feed, 62), [62])
  t.strictSame(await slotsOf(finalized, 30), [30])
})

t.test('the log is bounded in bytes, too', async t => {
  const { chain, open } = await start(t, { geyser: { replayBytesMax: 1 } })
  for (let count = 0; count < 60; count++) chain.tick()
  const { details } = await open({
    blocksMeta: { m: {} },
    commitment: CONFIRMED,
    fromSlot: '1',
  }).ended()
  t.equal(details, `broadcast from 1 is not available, last available: ${chain.slot - 32}`)
})

t.test('a consumer that stops reading is ended and does not affect others', async t => {
  const { chain, open } = await start(t, { geyser: { lagBytesMax: 4 * 1024 * 1024 } })
  const [slow, quick] = [
    open({ accounts: { a: {} }, commitment: CONFIRMED }),
    open({ slots: { s: {} }, commitment: CONFIRMED }),
  ]
  for (const feed of [slow, quick]) {
    feed.ask({ ping: { id: 1 } })
    await feed.until(({ pong }) => pong !== undefined)
  }
  slow.call.pause()
  const data = Buffer.alloc(1024 * 1024, 1)
  for (let slot = 2; slot < 14; slot++) {
    chain.load(Buffer.alloc(32, slot), {
      lamports: 1n,
      owner: ADDRESSES.token,
      executable: false,
      rentEpoch: 0n,
      data,
    })
    chain.tick()
    await quick.until(isStatus(slot, CONFIRMED))
  }
  slow.call.resume()
  t.match(await slow.ended(), { code: 13, details: 'lagged to send an update' })
})

t.test('an account of 10 MiB reaches both clients', async t => {
  const { chain, open, geyserUrl } = await start(t)
  const data = Buffer.alloc(10 * 1024 * 1024, 7)
  data.writeUInt32LE(42, data.length - 4)
  const pubkey = Buffer.alloc(32, 3)
  const account = { lamports: 2n ** 63n, owner: ADDRESSES.token, executable: false, data }
  chain.load(pubkey, { ...account, rentEpoch: 2n ** 64n - 1n })
  chain.tick()
  const ask = {
    accounts: { big: { account: [bs58.encode(pubkey)], owner: [], filters: [] } },
    commitment: CONFIRMED,
    fromSlot: '2',
  }
  const check = (found: { data: Uint8Array; lamports: string; rentEpoch: string } | undefined) => {
    t.equal(Buffer.compare(found?.data ?? Buffer.alloc(0), data), 0)
    t.equal(found?.lamports, '9223372036854775808')
    t.equal(found?.rentEpoch, '18446744073709551615')
  }
  const updates = await open(ask).until(update => update.account !== undefined)
  check(updates.at(-1)?.account?.account)

  const client = new yellowstone.default(geyserUrl, undefined, {
    grpcMaxDecodingMessageSize: 64 * 1024 * 1024,
  })
  await client.connect()
  const stream = await client.subscribe(toRequest(ask))
  t.teardown(() => stream.destroy())
  const found = await new Promise<Parameters<typeof check>[0]>((resolve, reject) => {
    stream.on('error', reject)
    stream.on('data', ({ account: update }) => update?.account && resolve(update.account))
  })
  check(found)
})

t.test('20,000 small updates at once do not end a connection', async t => {
  // With one DATA frame each, Rust clients fail with too_many_data_frames.
  const { chain, open, geyserUrl } = await start(t)
  const count = 20_000
  const state = { owner: Buffer.alloc(32, 4), executable: false, rentEpoch: 0n }
  for (let index = 1; index <= count; index++) {
    const pubkey = Buffer.alloc(32, 1)
    pubkey.writeUInt32LE(index)
    chain.load(pubkey, { ...state, lamports: BigInt(index), data: Buffer.alloc(165) })
  }
  chain.tick()
  const ask = {
    accounts: { a: { account: [], owner: [bs58.encode(state.owner)], filters: [] } },
    blocksMeta: { m: {} },
    commitment: CONFIRMED,
    fromSlot: '2',
  }
  const report = (client: string, seconds: number) =>
    t.comment(`${client}: ${Math.round(count / seconds)} updates a second`)
  const startedMs = performance.now()
  const updates = await open(ask).until(({ blockMeta }) => blockMeta?.slot === '2')
  report('grpc-js', (performance.now() - startedMs) / 1000)
  t.equal(updates.length, count + 1)

  const client = new yellowstone.default(geyserUrl, undefined, undefined)
  await client.connect()
  const againMs = performance.now()
  const stream = await client.subscribe(toRequest(ask))
  t.teardown(() => stream.destroy())
  let receivedCount = 0
  await new Promise<void>((resolve, reject) => {
    stream.on('error', reject)
    stream.on('data', ({ account, blockMeta }) => {
      if (account) receivedCount++
      if (blockMeta?.slot === '2') resolve()
    })
  })
  report('official client', (performance.now() - againMs) / 1000)
  t.equal(receivedCount, count)
})

t.test('the official client makes calls and replays the genesis', async t => {
  const { chain, geyserUrl, samples, transfer } = await start(t)
  const client = new yellowstone.default(geyserUrl, undefined, undefined)
  await client.connect()
  t.match(await client.ping(5), { count: 5 })
  t.match(await client.getSlot(), { slot: '1' })
  t.match(await client.getSlot(FINALIZED), { slot: '0' })
  t.match(await client.getBlockHeight(CONFIRMED), { blockHeight: '1' })
  t.match(await client.getLatestBlockhash(CONFIRMED), {
    slot: '1',
    blockhash: chain.tip.blockhash,
    lastValidBlockHeight: '151',
  })
  t.match(await client.isBlockhashValid(chain.tip.blockhash), { slot: '1', valid: true })
  t.match(await client.isBlockhashValid(samples.mint), { valid: false })
  t.match(await client.isBlockhashValid('no hash'), { valid: false })
  t.match(JSON.parse((await client.getVersion()).version), {
    version: { package: 'slotline-sandbox' },
  })
  t.match(await client.subscribeReplayInfo(), { firstAvailable: '1' })

  transfer()
  chain.tick()
  const stream = await client.subscribe(
    toRequest({
      ...EVERYTHING,
      commitment: CONFIRMED,
      fromSlot: '1',
    }),
  )
  t.teardown(() => stream.destroy())
  const names: string[] = []
  const transactions: object[] = []
  await new Promise<void>((resolve, reject) => {
    stream.on('error', reject)
    stream.on('data', update => {
      names.push(nameOf(update))
      if (update.transaction?.slot === '2') transactions.push(update.transaction.transaction)
      if (isStatus(2, CONFIRMED)(update)) resolve()
    })
  })
  t.ok(names.filter(name => name === 'account@1').length > 300)
  t.ok(names.indexOf('meta@1') > names.lastIndexOf('status@1'))
  t.equal(names.indexOf('slot1@1'), names.indexOf('meta@1') + 1)
  const { txEncode } = yellowstone
  const [transaction] = transactions as Parameters<typeof txEncode.encode>[0][]
  // The client's decoder of transactions accepts them.
  const shown = transaction && txEncode.encode(transaction, txEncode.encoding.Json, 255, true)
  t.match(shown, {
    meta: { fee: 5000, err: null, preTokenBalances: [{ uiTokenAmount: { decimals: 6 } }, {}] },
    transaction: { message: { header: { numRequiredSignatures: 1 } } },
  })
})

t.test('faults are injected: drop, cut, stall, omit, forge, refuse', async t => {
  const { chain, geyser, open } = await start(t)
  const ask = { blocksMeta: { m: {} }, commitment: CONFIRMED, fromSlot: '2' }
  const metasUntil = async (feed: ReturnType<typeof open>, last: number) =>
    (await feed.until(({ blockMeta }) => blockMeta?.slot === String(last))).map(({ blockMeta }) =>
      Number(blockMeta?.slot),
    )

  const dropped = open(ask)
  chain.tick()
  await metasUntil(dropped, 2)
  geyser.dropStreams()
  t.match(await dropped.ended(), { code: 14 })

  const cut = open(ask)
  await metasUntil(cut, 2)
  geyser.dropConnections()
  t.match(await cut.ended(), { code: 14 })

  geyser.refuse({ code: 8, details: 'not now' }, 1)
  t.match(await open(ask).ended(), { code: 8, details: 'not now' })

  const omitted = open(ask)
  await metasUntil(omitted, 2)
  geyser.omitSlot(3, 'live')
  geyser.omitSlot(4)
  for (let count = 0; count < 3; count++) chain.tick()
  t.strictSame(await metasUntil(omitted, 5), [5], 'live, without slots 3 and 4')
  const again = open({ ...ask, fromSlot: '3' })
  t.strictSame(await metasUntil(again, 5), [3, 5], 'a replay still has 3')

  geyser.forgeParent(6)
  chain.tick()
  const [forged] = await omitted.until(({ blockMeta }) => blockMeta?.slot === '6')
  t.not(forged?.blockMeta?.parentBlockhash, chain.tip.parentBlockhash)

  geyser.stall(50)
  chain.tick()
  omitted.ask({ ping: { id: 3 } })
  t.strictSame(await metasUntil(omitted, 7), [7], 'continues after the stall')

  geyser.burst(3)
  chain.tick()
  chain.tick()
  geyser.stall(20)
  // A stall that ends in between does not end the burst.
  await new Promise(next => setTimeout(next, 60))
  t.strictSame(omitted.updates, [], 'nothing is sent')
  chain.tick()
  t.strictSame(await metasUntil(omitted, 10), [8, 9, 10], 'and then all at once')
})
