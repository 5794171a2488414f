import bs58 from 'bs58'
import t from 'tap'
import { ADDRESSES } from '../../../src/sandbox/solana/addresses.js'
import { transferLamports } from '../../../src/sandbox/solana/system-instructions.js'
import { BUDGET, compileV1 } from '../../fixtures/sandbox/compile-v1.js'
import {
  CONFIRMED,
  FINALIZED,
  isStatus,
  key,
  nameOf,
  toRequest,
} from '../../fixtures/sandbox/sandbox.js'
import { TOWER_BFT } from '../../fixtures/sandbox/lanes.js'
import { yellowstone } from '../../fixtures/sandbox/yellowstone.js'
import { EVERYTHING, startGeyser } from '../../fixtures/sandbox/geyser.js'
import { isSoak } from '../../fixtures/soak.js'

const UPDATES = isSoak ? 20_000 : 5_000

t.test('a replay starts within the log and not before it', async t => {
  const { chain, open } = await startGeyser(t, {
    ...TOWER_BFT,
    geyser: { replaySlotsMax: 40 },
  })
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

t.test('the log is bounded in bytes, too, and keeps what is not final', async t => {
  const { chain, open } = await startGeyser(t, {
    ...TOWER_BFT,
    geyser: { replayBytesMax: 1 },
  })
  for (let count = 0; count < 60; count++) chain.tick()
  const { details } = await open({
    blocksMeta: { m: {} },
    commitment: CONFIRMED,
    fromSlot: '1',
  }).ended()
  t.equal(details, `broadcast from 1 is not available, last available: ${chain.slot - 32}`)
})

t.test('a consumer that stops reading is ended and does not affect others', async t => {
  const { chain, open } = await startGeyser(t, { geyser: { lagBytesMax: 4 * 1024 * 1024 } })
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
    await quick.until(isStatus(slot, FINALIZED))
  }
  slow.call.resume()
  t.match(await slow.ended(), { code: 13, details: 'lagged to send an update' })
})

t.test('an account of 10 MiB reaches both clients', async t => {
  const { chain, open, geyserUrl } = await startGeyser(t)
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

t.test(`${UPDATES} small updates at once do not end a connection`, async t => {
  // With one DATA frame each, Rust clients fail with too_many_data_frames.
  const { chain, open, geyserUrl } = await startGeyser(t)
  const count = UPDATES
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
  const { chain, geyserUrl, samples, transfer } = await startGeyser(t)
  const client = new yellowstone.default(geyserUrl, undefined, undefined)
  await client.connect()
  t.match(await client.ping(5), { count: 5 })
  t.match(await client.getSlot(), { slot: '1' })
  t.match(await client.getSlot(FINALIZED), { slot: '1' }, 'the first slot is final at once')
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
  const decision = [names.indexOf('slot1@1'), names.indexOf('slot2@1')].toSorted((a, b) => a - b)
  t.equal(decision[0], names.indexOf('meta@1') + 1)
  const { txEncode } = yellowstone
  const [transaction] = transactions as Parameters<typeof txEncode.encode>[0][]
  // The client's decoder of transactions accepts them.
  const shown = transaction && txEncode.encode(transaction, txEncode.encoding.Json, 255, true)
  t.match(shown, {
    meta: { fee: 5000, err: null, preTokenBalances: [{ uiTokenAmount: { decimals: 6 } }, {}] },
    transaction: { message: { header: { numRequiredSignatures: 1 } } },
  })
})

t.test('only a transaction of version 1 has a config in the feed', async t => {
  const { chain, open, transfer } = await startGeyser(t)
  const payer = key('payer')
  chain.airdrop(payer.publicKey, 10_000_000_000n)
  chain.tick()
  const move = transferLamports(payer.publicKey, key('to').publicKey, 1_000_000_000n)
  const budget = { ...BUDGET, priorityFeeLamports: 0n }
  chain.send(await compileV1(payer, chain.tip.blockhash, [move], budget))
  transfer()
  const { slot } = chain
  chain.tick()
  const ask = { transactions: { t: {} }, blocksMeta: { m: {} }, commitment: CONFIRMED }
  const feed = open({ ...ask, fromSlot: String(slot) })
  const updates = await feed.until(({ blockMeta }) => blockMeta?.slot === String(slot))
  const messages = updates.flatMap(({ transaction }) => {
    const message = transaction?.transaction?.transaction?.message
    return message === undefined ? [] : [message as { versioned: boolean; config?: object }]
  })
  t.strictSame(
    messages.map(({ versioned, config }) => ({ versioned, config })),
    [
      {
        versioned: true,
        config: {
          priorityFee: '0',
          computeUnitLimit: 200_000,
          loadedAccountsDataSizeLimit: 1_000_000,
          heapSize: undefined,
        },
      },
      { versioned: false, config: undefined },
    ],
  )
})

t.test('faults are injected: drop, cut, stall, omit, forge, refuse', async t => {
  const { chain, geyser, open } = await startGeyser(t)
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
