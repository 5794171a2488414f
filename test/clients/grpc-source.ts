import type { SubscribeUpdate, SubscribeUpdateDeshred } from '@triton-one/yellowstone-grpc'
import t, { type Test } from 'tap'
import { askAdmin, grantScope } from '../fixtures/dashboard/admin.js'
import type { Deployment } from '../fixtures/processes/deployment.js'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import {
  type Ask,
  isStatus,
  openDeshred,
  openFeed,
  PROCESSED,
  toRequest,
} from '../fixtures/sandbox/sandbox.js'
import { yellowstone } from '../fixtures/sandbox/yellowstone.js'
import { until } from '../fixtures/until.js'

const { SubscribeDeshredRequest, SubscribeUpdate: UpdateCodec } = yellowstone
const { SubscribeUpdateDeshred: DeshredCodec } = yellowstone
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const SYSTEM = '11111111111111111111111111111111'
const [UNAUTHENTICATED, INVALID, EXHAUSTED] = [16, 3, 8]
const ALL = {
  accounts: {
    all: {},
    token: { owner: [TOKEN], filters: [{ datasize: '165' }] },
    clock: { account: ['SysvarC1ock11111111111111111111111111111111'] },
    rich: { filters: [{ lamports: { gt: '1000000000' } }], nonemptyTxnSignature: true },
  },
  slots: { levels: {}, between: { interslotUpdates: true }, own: { filterByCommitment: true } },
  transactions: {
    whole: {},
    failed: { failed: true },
    tokens: { accountInclude: [TOKEN], accountExclude: [SYSTEM] },
    needed: { accountRequired: [TOKEN] },
  },
  transactionsStatus: { outcomes: { failed: false } },
  blocksMeta: { metas: {} },
  commitment: PROCESSED,
}
const EARLY = {
  deshredTransactions: {
    all: {},
    tokens: { accountInclude: [TOKEN], accountExclude: [SYSTEM] },
    needed: { accountRequired: [TOKEN] },
    votes: { vote: true },
  },
  slots: { levels: {}, between: { interslotUpdates: true } },
}

const prepare = async (t: Test, limits: Readonly<Record<string, number>> = {}) => {
  const deployment = await sharedBusySandbox()
  const { accessId, tokenPath } = await grantScope(deployment, 'fra', limits)
  const { body } = await askAdmin(deployment, 'POST', tokenPath)
  const token = String(body['token'])
  const { grpcUrl } = deployment.description.locations[0]
  const { geyserUrl } = deployment.description
  const open = (ask: Ask, url = grpcUrl) => {
    const feed = openFeed(url, {}, token)
    t.teardown(() => feed.close())
    feed.ask(ask)
    return feed
  }
  const openEarly = (ask: object = EARLY, url = grpcUrl) => {
    const feed = openDeshred(url, token)
    t.teardown(() => feed.close())
    feed.ask(ask)
    return feed
  }
  return { deployment, accessId, tokenPath, token, grpcUrl, geyserUrl, open, openEarly }
}

type OfSlot = Pick<SubscribeUpdate, 'slot'>

/** From the end of one block to that of another: each update of the source is between them once. */
const between = <U extends OfSlot>(updates: readonly U[], first: number, last: number): U[] => {
  const at = (slot: number) => updates.findIndex(one => isProcessed(slot)(one))
  return updates.slice(at(first) + 1, at(last) + 1)
}

const isProcessed =
  (slot: number) =>
  ({ slot: update }: OfSlot): boolean =>
    isStatus(slot, PROCESSED)({ slot: update } as SubscribeUpdate)

const slotOf = ({ slot }: OfSlot): number => Number(slot?.slot)

const texts = <U extends { filters: string[] }>(
  updates: readonly (U & { ping?: unknown })[],
  encode: (update: U) => { finish(): Uint8Array },
) =>
  updates
    .filter(({ ping }) => ping === undefined)
    .map(one => Buffer.from(encode({ ...one, filters: one.filters.toSorted() }).finish()))
    .map(bytes => bytes.toString('hex'))

t.test('a stream at PROCESSED has what the source sends, as it sends it', async t => {
  const { geyserUrl, open } = await prepare(t)
  const [ours, theirs] = [open(ALL), open(ALL, geyserUrl)]
  const started = await Promise.all(
    [ours, theirs].map(feed => feed.until(({ filters }) => filters.includes('own'))),
  )
  const first =
    Math.max(...started.map(updates => slotOf(updates.at(-1) ?? { slot: undefined }))) + 2
  const last = first + 20
  const both = await Promise.all([ours, theirs].map(feed => feed.until(isProcessed(last))))
  const [sent, source] = both.map(updates => between(updates, first, last))
  const encode = (update: SubscribeUpdate) => UpdateCodec.encode(update)
  t.strictSame(texts(sent ?? [], encode), texts(source ?? [], encode))
  const named = new Set((sent ?? []).flatMap(({ filters }) => filters))
  const silent = ['failed']
  const kinds = [ALL.accounts, ALL.slots, ALL.transactions, ALL.transactionsStatus, ALL.blocksMeta]
  const expected = kinds.flatMap(kind => Object.keys(kind)).filter(one => !silent.includes(one))
  for (const name of expected) t.ok(named.has(name), name)
})

t.test('transactions come before they are executed, each once', async t => {
  const { geyserUrl, open, openEarly } = await prepare(t)
  const [ours, theirs] = [openEarly(), openEarly(EARLY, geyserUrl)]
  const processed = open({ ...ALL, accounts: {} })
  const arrived: string[] = []
  const note = (kind: string, signature: Uint8Array | undefined) => {
    if (signature !== undefined) arrived.push(`${kind} ${Buffer.from(signature).toString('hex')}`)
  }
  ours.call.on('data', (update: SubscribeUpdateDeshred) =>
    note('early', update.deshredTransaction?.transaction?.signature),
  )
  processed.call.on('data', (update: SubscribeUpdate) =>
    note('processed', update.transaction?.transaction?.signature),
  )
  const started = await Promise.all(
    [ours, theirs].map(feed => feed.until(({ slot }) => Boolean(slot))),
  )
  const first =
    Math.max(...started.map(updates => slotOf(updates.at(-1) ?? { slot: undefined }))) + 2
  const last = first + 20
  const both = await Promise.all([ours, theirs].map(feed => feed.until(isProcessed(last))))
  const [sent, source] = both.map(updates => between(updates, first, last))
  const encode = (update: SubscribeUpdateDeshred) => DeshredCodec.encode(update)
  t.strictSame(texts(sent ?? [], encode), texts(source ?? [], encode))
  const transactions = (sent ?? []).flatMap(({ deshredTransaction }) => deshredTransaction ?? [])
  t.ok(transactions.length > 10)
  t.ok((sent ?? []).some(({ filters }) => filters.includes('needed')))
  t.notOk((sent ?? []).some(({ filters }) => filters.includes('votes')))
  for (const { transaction } of transactions) {
    const hex = Buffer.from(transaction?.signature ?? []).toString('hex')
    await until('it is processed', () => arrived.includes(`processed ${hex}`))
    t.equal(arrived.filter(one => one === `early ${hex}`).length, 1)
  }
  ours.ask({ ping: { id: 5 } })
  await ours.until(({ pong }) => pong?.id === 5)
})

t.test('the published client subscribes to both', async t => {
  const { grpcUrl, token } = await prepare(t)
  const client = new yellowstone.default(grpcUrl, token, undefined)
  await client.connect()
  const stream = await client.subscribe(toRequest(ALL))
  const early = await client.subscribeDeshred()
  t.teardown(() => void [stream, early].map(one => one.destroy()))
  early.write(SubscribeDeshredRequest.fromPartial(EARLY))
  const seen = new Set<string>()
  stream.on('data', (update: SubscribeUpdate) => {
    if (update.transaction) seen.add('transaction')
    if (update.slot && Number(update.slot.status) === PROCESSED) seen.add('slot')
  })
  early.on('data', (update: SubscribeUpdateDeshred) => {
    if (update.deshredTransaction) seen.add('early')
  })
  await until('an update of each', () => seen.size === 3)
})

t.test('limits are those of other streams, and filters can be replaced', async t => {
  const { open, openEarly } = await prepare(t, { socketsMax: 2, subscriptionsPerSocketMax: 3 })
  const slots = { a: {}, b: {}, c: {} }
  const first = open({ slots, commitment: PROCESSED })
  await first.until(({ slot }) => slot !== undefined)
  const early = openEarly({ slots })
  await early.until(({ slot }) => slot !== undefined)
  const exceeded = { code: EXHAUSTED, details: 'max subscription limit exceeded' }
  t.match(await openEarly().ended(), exceeded)
  first.ask({ blocksMeta: { m: {} }, transactions: { t: {} }, commitment: PROCESSED })
  await first.until(({ transaction }) => transaction !== undefined)
  const updates = await first.until(({ blockMeta }) => blockMeta !== undefined)
  t.notOk(updates.some(({ slot }) => slot !== undefined))
  // Another level on the same stream.
  first.ask({ slots: { f: { filterByCommitment: true } } })
  await first.until(({ filters }) => filters.includes('f'))
  early.ask({ slots: { ...slots, d: {} } })
  t.match(await early.ended(), { code: INVALID, details: /filters.* only 3 allowed$/ })
})

t.test('what is taken away ends them before the call returns', async t => {
  const changes: readonly {
    readonly name: string
    run(of: { deployment: Deployment; accessId: string; tokenPath: string }): Promise<unknown>
  }[] = [
    {
      name: 'a revoked token',
      run: ({ deployment, tokenPath }) => askAdmin(deployment, 'DELETE', tokenPath),
    },
    {
      name: 'a regenerated token',
      run: ({ deployment, tokenPath }) => askAdmin(deployment, 'POST', `${tokenPath}/regenerate`),
    },
    {
      name: 'another address',
      run: ({ deployment, tokenPath }) =>
        askAdmin(deployment, 'PUT', `${tokenPath}/restriction`, { address: '8.8.8.8' }),
    },
    {
      name: 'an ended access',
      run: ({ deployment, accessId }) => askAdmin(deployment, 'POST', `/accesses/${accessId}/end`),
    },
  ]
  for (const { name, run } of changes)
    await t.test(name, async t => {
      const { deployment, accessId, tokenPath, geyserUrl, open, openEarly } = await prepare(t)
      const [stream, early] = [open(ALL), openEarly()]
      const source = open({ slots: { s: {} }, commitment: PROCESSED }, geyserUrl)
      let newest = 0
      source.call.on(
        'data',
        (update: SubscribeUpdate) => (newest = Math.max(newest, slotOf(update) || 0)),
      )
      await stream.until(({ account }) => account !== undefined)
      await early.until(({ deshredTransaction }) => deshredTransaction !== undefined)
      await until('a slot of the source', () => newest > 0)
      await run({ deployment, accessId, tokenPath })
      const atReturn = newest + 1
      for (const feed of [stream, early]) t.match(await feed.ended(), { code: UNAUTHENTICATED })
      await source.until(isProcessed(atReturn + 3))
      for (const { updates } of [stream, early])
        t.ok(
          updates.every(one => !(slotOf(one) > atReturn)),
          'nothing of a later slot',
        )
    })
})
