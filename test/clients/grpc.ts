import type { SubscribeUpdate } from '@triton-one/yellowstone-grpc'
import t, { type Test } from 'tap'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import { call, callText, type Deployment } from '../fixtures/processes/deployment.js'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import {
  CONFIRMED,
  FINALIZED,
  nameOf,
  openFeed,
  PROCESSED,
  toRequest,
  type Ask,
} from '../fixtures/sandbox/sandbox.js'
import { yellowstone } from '../fixtures/sandbox/yellowstone.js'
import { until } from '../fixtures/until.js'

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
/** All that a stream can have. */
const ALL = {
  accounts: { all: {}, token: { owner: [TOKEN] } },
  slots: { slots: {} },
  transactions: { whole: {}, failed: { failed: true }, tokens: { accountInclude: [TOKEN] } },
  transactionsStatus: { outcomes: { accountInclude: [TOKEN] } },
  entry: { entries: {} },
  blocksMeta: { metas: {} },
  commitment: CONFIRMED,
}
/** Accounts that a transaction has written, or the runtime itself. */
const SIGNED = {
  signed: { nonemptyTxnSignature: true },
  unsigned: { nonemptyTxnSignature: false },
}
const BLOCKS = {
  whole: { includeAccounts: true, includeEntries: true },
  tokens: { accountInclude: [TOKEN], includeAccounts: false },
}
/** A filter `f` of footers, which the client does not know: field 12, with its name in field 1. */
const FOOTERS = Uint8Array.of(98, 3, 10, 1, 102)
const [UNAUTHENTICATED, INVALID, EXHAUSTED, OUT_OF_RANGE] = [16, 3, 8, 11]

const prepare = async (
  t: Test,
  limits: Readonly<Record<string, number>> = {},
  location: 0 | 1 = 0,
) => {
  const deployment = await sharedBusySandbox()
  const { accessId, tokenPath } = await grantScope(deployment, ['fra', 'nyc'][location], limits)
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  const { grpcUrl } = deployment.description.locations[location]
  const open = (ask?: Ask, token: string | undefined = String(body['token'])) => {
    const feed = openFeed(grpcUrl, {}, token)
    t.teardown(() => feed.close())
    if (ask !== undefined) feed.ask(ask)
    return feed
  }
  return { deployment, accessId, tokenPath, token: String(body['token']), grpcUrl, open }
}

const { SubscribeUpdateTransactionInfo: InfoCodec } = yellowstone

/** An update without what differs between servers, and between two connections. */
const contentOf = (update: SubscribeUpdate) => {
  const { account, blockMeta, entry, transaction, transactionStatus } = update
  if (entry !== undefined) return JSON.stringify({ ...entry, bankId: 0, hash: [...entry.hash] })
  if (transaction?.transaction !== undefined) {
    const bytes = InfoCodec.encode(transaction.transaction).finish()
    return `${transaction.slot} ${Buffer.from(bytes).toString('hex')}`
  }
  if (transactionStatus !== undefined) {
    const { slot, signature, isVote, index, err } = transactionStatus
    return [slot, Buffer.from(signature).toString('hex'), isVote, index, err !== undefined].join(
      ' ',
    )
  }
  if (account?.account !== undefined) {
    const { pubkey, data, owner, lamports, executable, rentEpoch } = account.account
    const texts = [pubkey, owner, data].map(bytes => Buffer.from(bytes).toString('hex'))
    return [account.slot, ...texts, lamports, executable, rentEpoch].join(' ')
  }
  const { slot, blockhash, parentSlot, parentBlockhash, blockHeight, blockTime } = blockMeta ?? {}
  const { executedTransactionCount, entriesCount, rewards } = blockMeta ?? {}
  const counts = [executedTransactionCount, entriesCount, rewards?.rewards.length]
  const texts = [slot, blockhash, parentSlot, parentBlockhash, ...counts]
  return [...texts, blockHeight?.blockHeight, blockTime?.timestamp].join(' ')
}

const slotOf = (update: SubscribeUpdate): number => {
  const { account, block, blockMeta, entry, slot, transaction, transactionStatus } = update
  const of = account ?? entry ?? transaction ?? transactionStatus ?? block ?? blockMeta ?? slot
  return Number(of?.slot)
}

/** Each block of a replay beside what the stream has sent of its slot before. */
const blocksOf = (updates: readonly SubscribeUpdate[]) =>
  updates.flatMap(({ block, filters }) => {
    if (block === undefined) return []
    const parts = updates.filter(one => slotOf(one) === Number(block.slot))
    const accounts = parts.flatMap(({ account }) => account?.account ?? [])
    const entries = parts.flatMap(({ entry }) => entry ?? [])
    const transactions = parts.flatMap(({ transaction, filters }) => {
      const { signature } = transaction?.transaction ?? {}
      return signature === undefined ? [] : { filters, signature }
    })
    return [{ block, filters, accounts, entries, transactions }]
  })

const isMeta =
  (slot: number) =>
  ({ blockMeta }: SubscribeUpdate): boolean =>
    Number(blockMeta?.slot) >= slot

t.test('a stream has what the source has of each slot', async t => {
  const { deployment, open } = await prepare(t)
  const ours = open(ALL)
  const [first] = await ours.until(update => update.blockMeta !== undefined)
  const from = slotOf(first ?? ({} as SubscribeUpdate))
  const last = from + 8
  const updates = [first, ...(await ours.until(isMeta(last)))].flatMap(one => one ?? [])
  const source = openFeed(deployment.description.geyserUrl)
  t.teardown(() => source.close())
  source.ask({ ...ALL, slots: {}, fromSlot: String(from) })
  const theirs = await source.until(isMeta(last))
  const accounts = { ...ALL.accounts, ...SIGNED }
  const again = open({ ...ALL, accounts, blocks: BLOCKS, fromSlot: String(from) })
  const replayed = await again.until(isMeta(last))
  const sorted = (all: readonly SubscribeUpdate[]) =>
    all
      .filter(one => one.slot === undefined && one.block === undefined)
      .filter(one => one.ping === undefined && slotOf(one) <= last)
      .map(contentOf)
      .toSorted()
  t.ok(sorted(theirs).length > 16)
  t.strictSame(sorted(replayed), sorted(theirs))
  t.strictSame(
    sorted(updates).slice(0),
    sorted(theirs).filter(one => sorted(updates).includes(one)),
  )
  // Content comes before the meta of its block, and the meta before the status of the slot.
  let slot = 0
  let rank = 0
  for (const update of replayed) {
    const isFinal = Number(update.slot?.status) === FINALIZED
    if (update.ping !== undefined || isFinal) continue
    const isTransaction = update.transaction ?? update.transactionStatus
    const block = update.block ? 3 : update.blockMeta ? 4 : 5
    const rest = update.entry ? 2 : block
    const now = update.account ? 0 : isTransaction ? 1 : rest
    t.ok(slotOf(update) > slot || (slotOf(update) === slot && now >= rank), nameOf(update))
    slot = slotOf(update)
    rank = now
  }
  const blocks = blocksOf(replayed)
  t.strictSame(
    blocks.slice(0, 4).map(({ filters }) => filters[0]),
    ['tokens', 'whole', 'tokens', 'whole'],
  )
  for (const { block, filters, accounts, entries, transactions } of blocks) {
    const isWhole = filters[0] === 'whole'
    const wanted = transactions.filter(one => isWhole || one.filters.includes('tokens'))
    const signatures = (all: readonly { signature: Uint8Array }[]) =>
      all.map(({ signature }) => Buffer.from(signature).toString('hex'))
    t.strictSame(signatures(block.transactions), signatures(wanted))
    t.strictSame(block.accounts, isWhole ? accounts : [])
    t.equal(Number(block.updatedAccountCount), accounts.length)
    t.strictSame(block.entries, isWhole ? entries : [])
    t.equal(Number(block.entriesCount), entries.length)
    const executed = entries.map(({ executedTransactionCount: count }) => Number(count))
    const sum = executed.reduce((total, count) => total + count, 0)
    t.equal(Number(block.executedTransactionCount), sum)
  }
  t.ok(blocks.some(({ block }) => block.transactions.length > 0 && block.accounts.length > 0))
  const owned = replayed.find(({ filters }) => filters.includes('token'))
  t.strictSame(owned?.filters, ['all', 'signed', 'token'])
  const signatures = new Map(
    theirs.flatMap(({ account }) => {
      const { pubkey, txnSignature } = account?.account ?? {}
      const key = `${account?.slot} ${pubkey && Buffer.from(pubkey).toString('hex')}`
      return pubkey === undefined ? [] : [[key, txnSignature !== undefined] as const]
    }),
  )
  for (const { account, filters } of replayed) {
    if (account?.account === undefined) continue
    const key = `${account.slot} ${Buffer.from(account.account.pubkey).toString('hex')}`
    t.equal(filters.includes('signed'), signatures.get(key), key)
    t.equal(filters.includes('unsigned'), !filters.includes('signed'))
  }
  t.ok(replayed.some(({ filters }) => filters.includes('unsigned')))
  t.ok(replayed.some(({ transaction }) => transaction !== undefined))
  t.ok(replayed.some(({ transactionStatus }) => transactionStatus !== undefined))
})

t.test('each block of a chain of Alpenglow has its footer before its meta', async t => {
  const { open } = await prepare(t)
  const feed = open()
  feed.ask({ blocksMeta: { m: {} }, commitment: CONFIRMED }, FOOTERS)
  for (let left = 3; left > 0; left--) {
    const updates = await feed.until(({ blockMeta }) => blockMeta !== undefined)
    const names = updates.filter(({ ping }) => ping === undefined).flatMap(one => one.filters)
    t.strictSame(names, ['f', 'm'])
  }
})

t.test('the published client calls and subscribes', async t => {
  const { grpcUrl, token, deployment } = await prepare(t)
  const client = new yellowstone.default(grpcUrl, token, undefined)
  await client.connect()
  t.match(await client.ping(5), { count: 5 })
  const slot = Number((await client.getSlot(CONFIRMED)).slot)
  t.ok(slot > 0 && Number((await client.getSlot(FINALIZED)).slot) <= slot + 5)
  const { blockhash, lastValidBlockHeight } = await client.getLatestBlockhash(CONFIRMED)
  t.match(await client.isBlockhashValid(blockhash), { valid: true })
  t.match(await client.isBlockhashValid(TOKEN), { valid: false })
  t.ok(Number((await client.getBlockHeight(CONFIRMED)).blockHeight) < Number(lastValidBlockHeight))
  t.match(JSON.parse((await client.getVersion()).version), { version: { package: 'slotline' } })
  t.ok(Number((await client.subscribeReplayInfo()).firstAvailable) > 0)
  const stream = await client.subscribe(toRequest(ALL))
  t.teardown(() => stream.destroy())
  const update = await new Promise<SubscribeUpdate>((resolve, reject) => {
    stream.on('error', reject)
    stream.on('data', (one: SubscribeUpdate) => one.account && resolve(one))
  })
  t.ok(update.account?.account?.data !== undefined)
  const page = await (await fetch(deployment.description.metricsUrl)).text()
  t.match(page, /slotline_grpc_streams\{process="geyser"\} [1-9]/)
  t.match(page, /slotline_grpc_updates_total\{process="geyser"\} [1-9]/)
})

t.test('requests replace filters, and pings are answered', async t => {
  const { open } = await prepare(t)
  const feed = open({ slots: { one: {} } })
  await feed.until(({ filters }) => filters.includes('one'))
  feed.ask({ ping: { id: 7 } })
  await feed.until(({ pong }) => pong?.id === 7)
  feed.ask({ blocksMeta: { two: {} }, commitment: FINALIZED })
  await feed.until(({ filters }) => filters.includes('two'))
  const after = await feed.until(({ blockMeta }) => blockMeta !== undefined)
  t.notOk(after.some(({ filters }) => filters.includes('one')))
  feed.call.end()
  const later = await feed.until(({ blockMeta }) => blockMeta !== undefined)
  const [before, slot] = [after, later].map(updates => Number(updates.at(-1)?.blockMeta?.slot))
  t.ok((slot ?? 0) > (before ?? Infinity), 'a client that has ended its half still listens')
})

t.test('what is not served is refused', async t => {
  const { open, deployment } = await prepare(t)
  const refused = async (ask: Ask, code: number, details: RegExp | string, token?: string) =>
    t.match(await open(ask, token).ended(), { code, details })
  await refused({ ...ALL, fromSlot: '1' }, OUT_OF_RANGE, /^broadcast from 1 is not available, last/)
  for (const more of [{ fromSlot: '1' }, { entry: ALL.entry }, { blocks: BLOCKS }]) {
    const ask = { slots: { a: {} }, commitment: PROCESSED, ...more }
    await refused(ask, INVALID, /` is not allowed at PROCESSED: /)
  }
  await refused({ slots: {}, commitment: 7 }, INVALID, /CommitmentLevel from 7$/)
  await refused(
    { accounts: { a: { owner: ['x'] } } },
    INVALID,
    /^failed to create filter: String is/,
  )
  const name = 'n'.repeat(129)
  await refused({ slots: { [name]: {} } }, INVALID, /max allowed size 128\), found 129$/)
  const noToken = { code: UNAUTHENTICATED, details: 'No valid auth token' }
  t.match(await open(ALL, '').ended(), noToken)
  t.match(await open(ALL, `slt_${'1'.repeat(38)}`).ended(), noToken)
  const elsewhere = await prepare(t, {}, 1)
  t.match(await open(ALL, elsewhere.token).ended(), noToken, 'a token of another location')
  const { grpcUrl } = deployment.description.locations[0]
  const client = new yellowstone.default(grpcUrl, undefined, undefined)
  await t.rejects(async () => {
    await client.connect()
    await client.ping(1)
  }, /ping request failed/)
})

t.test('limits of an access are those of WebSockets', async t => {
  const { open } = await prepare(t, { socketsMax: 1, subscriptionsPerSocketMax: 3 })
  const first = open({ slots: { a: {} } })
  await first.until(({ slot }) => slot !== undefined)
  const exceeded = { code: EXHAUSTED, details: 'max subscription limit exceeded' }
  t.match(await open(ALL).ended(), exceeded)
  // Those of the reconnecting client do not count.
  first.ask({ slots: { a: {}, b: {}, c: {}, __reconn: {} }, blocksMeta: { __reconn: {} } })
  await first.until(({ filters }) => filters.includes('__reconn'))
  first.ask({ slots: { a: {}, b: {}, c: {}, d: {} } })
  t.match(await first.ended(), { code: INVALID, details: /filters.* only 3 allowed$/ })
  await until('its place is free', async () => {
    const next = open({ slots: { a: {} } })
    return next
      .until(({ slot }) => slot !== undefined)
      .then(
        () => true,
        () => false,
      )
  })
})

/** Streams that are read, with the newest block that each has anything of. */
const watch = (feeds: readonly ReturnType<typeof openFeed>[]) =>
  feeds.map(feed => {
    const seen = { slot: 0 }
    feed.call.on('data', (update: SubscribeUpdate) => {
      const { ping, pong, slot } = update
      if ((ping ?? pong ?? slot) === undefined) seen.slot = Math.max(seen.slot, slotOf(update))
    })
    return seen
  })

t.test('what is taken away ends streams before the call returns', async t => {
  const changes: readonly {
    readonly name: string
    readonly details: string
    run(of: { deployment: Deployment; accessId: string; tokenPath: string }): Promise<unknown>
  }[] = [
    {
      name: 'a revoked token',
      details: 'No valid auth token',
      run: ({ deployment, tokenPath }) => askAdmin(deployment, 'DELETE', tokenPath),
    },
    {
      name: 'a regenerated token',
      details: 'No valid auth token',
      run: ({ deployment, tokenPath }) => askAdmin(deployment, 'POST', `${tokenPath}/regenerate`),
    },
    {
      name: 'another address',
      details: 'The token is not valid at this address',
      run: ({ deployment, tokenPath }) =>
        askAdmin(deployment, 'PUT', `${tokenPath}/restriction`, { address: '8.8.8.8' }),
    },
    {
      name: 'an ended access',
      details: 'The access is not valid at this time',
      run: ({ deployment, accessId }) => askAdmin(deployment, 'POST', `/accesses/${accessId}/end`),
    },
  ]
  for (const { name, details, run } of changes)
    await t.test(name, async t => {
      const { deployment, open, accessId, tokenPath } = await prepare(t)
      const feeds = Array.from({ length: 5 }, () => open(ALL))
      for (const feed of feeds) await feed.until(({ account }) => account !== undefined)
      const seen = watch(feeds)
      await run({ deployment, accessId, tokenPath })
      // What was on its way may be read later than the answer of the call, but is no later block.
      const newest = Number(await call(deployment.url, 'getSlot', [{ commitment: 'confirmed' }]))
      for (const feed of feeds) t.match(await feed.ended(), { code: UNAUTHENTICATED, details })
      for (const { slot } of seen) t.ok(slot > 0 && slot <= newest, `${slot} of ${newest}`)
      t.match(await open(ALL).ended(), { code: UNAUTHENTICATED }, 'a new one is refused')
    })
})

t.test('a client that resumes has every block once, also after a kill', async t => {
  const { deployment, open } = await prepare(t)
  const metas = new Map<number, number>()
  let feed = open({ blocksMeta: { m: {} }, accounts: { a: { owner: [TOKEN] } } })
  const read = async (count: number) => {
    for (let left = count; left > 0; left--) {
      const updates = await feed.until(({ blockMeta }) => blockMeta !== undefined)
      const { slot = '', parentSlot = '' } = updates.at(-1)?.blockMeta ?? {}
      t.notOk(metas.has(Number(slot)), `slot ${slot} came once`)
      metas.set(Number(slot), Number(parentSlot))
    }
  }
  await read(5)
  for (let kills = 0; kills < 3; kills++) {
    const [pid = 0] = deployment.pidsOf('geyser')
    process.kill(pid, 'SIGKILL')
    await feed.ended()
    const fromSlot = String(Math.max(...metas.keys()) + 1)
    // The port stays open: a client that connects meanwhile waits.
    feed = open({ blocksMeta: { m: {} }, accounts: { a: { owner: [TOKEN] } }, fromSlot })
    await read(5)
  }
  const slots = [...metas.keys()]
  for (const [index, slot] of slots.entries())
    if (index > 0) t.equal(metas.get(slot), slots[index - 1], 'each follows the one before')
  t.match(await callText(deployment.url, 'getSlot', []), 'result')
})
