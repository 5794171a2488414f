// Sources that refuse a kind of filter, a level or a call, over sockets: the index follows the
// chain as long as it can, and clients get the documented codes.
import t, { type Test } from 'tap'
import { GrpcError } from '../../src/sandbox/geyser/grpc-message.js'
import type { SubscribeRequest } from '../../src/sandbox/geyser/request.js'
import { startSandboxChain } from '../../src/sandbox/sandbox-chain.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { type Ask, openDeshred, openFeed, PROCESSED } from '../fixtures/sandbox/sandbox.js'
import { until } from '../fixtures/until.js'

const [INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED] = [3, 9, 12]
const CONFIRMED_SLOTS = { slots: { s: {} } }
const SLOTS = { slots: { s: {} }, commitment: PROCESSED }
const ALL = { ...SLOTS, accounts: { a: {} }, transactions: { t: {} }, blocksMeta: { m: {} } }
const NOT_ALLOWED = {
  code: FAILED_PRECONDITION,
  details: /^the source of this network does not allow/,
}
const NO_CALL = {
  code: UNIMPLEMENTED,
  details: /^method disabled: the source of this network does not/,
}

type Kind = (request: SubscribeRequest, isDeshred: boolean) => boolean

const hasFooters: Kind = ({ footers }) => footers.size > 0
const isProcessed: Kind = ({ commitment }, isDeshred) => !isDeshred && commitment === PROCESSED
const hasMetas: Kind = request => isProcessed(request, false) && request.blocksMeta.length > 0
const isDeshred: Kind = (_request, is) => is

/** A service whose source refuses what is of this kind with this code. */
const startRefused = async (t: Test, isRefused: Kind, code: number) => {
  const requests: SubscribeRequest[] = []
  const chain = await startSandboxChain({
    slotMs: 100,
    trafficPerSecond: 20,
    geyser: {
      admit: (request, isEarly) => {
        if (!isEarly) requests.push(request)
        if (isRefused(request, isEarly)) throw new GrpcError(code, 'not in this subscription')
      },
    },
  })
  t.teardown(() => chain.close())
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl, startSlot: 1, transactions: 'full' } },
    { processes: { edgeCount: 1 } },
    { hasGrpc: true },
  )
  const service = await prepared.start()
  const token = prepared.tokenOf('one', 'fra')
  const open = (ask: Ask) => {
    const feed = openFeed(prepared.grpcUrl, {}, token)
    t.teardown(() => feed.close())
    feed.ask(ask)
    return feed
  }
  const openEarly = () => {
    const feed = openDeshred(prepared.grpcUrl, token)
    t.teardown(() => feed.close())
    feed.ask({ deshredTransactions: { d: {} } })
    return feed
  }
  /** The index follows the chain: a stream of it has new slots. */
  const untilFollowing = async (): Promise<void> => {
    const { slot } = chain.chain.tip
    const feed = open(CONFIRMED_SLOTS)
    await feed.until(({ slot: update }) => Number(update?.slot) > slot)
    feed.close()
  }
  await untilFollowing()
  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(prepared.metricsUrl)).text()
    return Number(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'm').exec(page)?.[1])
  }
  return {
    chain,
    metric,
    open,
    openEarly,
    output: () => service.output(),
    requests,
    untilFollowing,
  }
}

for (const code of [INVALID_ARGUMENT, UNIMPLEMENTED])
  t.test(`block footers are refused with ${code}`, async t => {
    const service = await startRefused(t, hasFooters, code)
    const { chain, metric, output, requests, untilFollowing } = service
    const asked = () =>
      requests.filter(({ commitment }) => commitment !== PROCESSED).map(one => one.footers.size)
    t.strictSame(asked(), [1, 0])
    t.match(
      output(),
      /feed connects without block footers, which its server may not allow: .*not in this/,
    )
    t.notMatch(output(), /feed unhealthy/)
    t.equal(await metric('slotline_feed_footers'), 0)
    t.equal(await metric('slotline_feed_healthy'), 1)
    chain.geyser.dropConnections()
    await until('it connects again', () => asked().length === 3)
    t.strictSame(asked(), [1, 0, 0], 'they are not asked for again')
    await untilFollowing()
    // What clients ask for besides is served.
    await service.open(ALL).until(({ account }) => account !== undefined)
    await service.openEarly().until(({ deshredTransaction }) => deshredTransaction !== undefined)
  })

t.test('footers are requested where nothing refuses them', async t => {
  const { metric } = await startRefused(t, () => false, INVALID_ARGUMENT)
  t.equal(await metric('slotline_feed_footers'), 1)
})

t.test('PROCESSED is refused with INVALID_ARGUMENT', async t => {
  const service = await startRefused(t, isProcessed, INVALID_ARGUMENT)
  for (const ask of [ALL, SLOTS, ALL, SLOTS]) t.match(await service.open(ask).ended(), NOT_ALLOWED)
  const count = service.requests.filter(({ commitment }) => commitment === PROCESSED).length
  t.ok(count <= 4, `the source was asked ${count} times`)
  await service.untilFollowing()
  await service.openEarly().until(({ deshredTransaction }) => deshredTransaction !== undefined)
})

t.test('PROCESSED is refused with UNIMPLEMENTED', async t => {
  const service = await startRefused(t, isProcessed, UNIMPLEMENTED)
  for (const ask of [ALL, SLOTS]) t.match(await service.open(ask).ended(), NO_CALL)
  await service.untilFollowing()
})

t.test('one kind at PROCESSED is refused', async t => {
  const service = await startRefused(t, hasMetas, INVALID_ARGUMENT)
  const metas = { blocksMeta: { m: {} }, commitment: PROCESSED }
  t.match(await service.open(metas).ended(), NOT_ALLOWED)
  t.match(await service.open(metas).ended(), NOT_ALLOWED)
  await service
    .open({ ...SLOTS, transactions: { t: {} } })
    .until(({ transaction }) => Boolean(transaction))
  await service.untilFollowing()
})

for (const [code, refused] of [
  [INVALID_ARGUMENT, NOT_ALLOWED],
  [UNIMPLEMENTED, NO_CALL],
] as const)
  t.test(`SubscribeDeshred is refused with ${code}`, async t => {
    const service = await startRefused(t, isDeshred, code)
    for (let count = 0; count < 2; count++) t.match(await service.openEarly().ended(), refused)
    await service.untilFollowing()
    await service.open(ALL).until(({ transaction }) => transaction !== undefined)
  })
