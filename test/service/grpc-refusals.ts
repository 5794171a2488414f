// Sources that refuse a kind of filter, a level or a call, over sockets: the index follows the
// chain as long as it can, and clients get the documented codes.
import t from 'tap'
import { Chain } from '../../src/sandbox/chain/chain.js'
import { createSampleAccounts } from '../../src/sandbox/chain/sample-accounts.js'
import { openGeyser } from '../../src/sandbox/geyser/geyser.js'
import { GrpcError } from '../../src/sandbox/geyser/grpc-message.js'
import type { SubscribeRequest } from '../../src/sandbox/geyser/request.js'
import { startTraffic } from '../../src/sandbox/chain/traffic.js'
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

/** What the source of each network refuses, and with which code. */
const REFUSED: Readonly<Record<string, readonly [isRefused: Kind, code: number]>> = {
  'footers-3': [hasFooters, INVALID_ARGUMENT],
  'footers-12': [hasFooters, UNIMPLEMENTED],
  nothing: [() => false, INVALID_ARGUMENT],
  'processed-3': [isProcessed, INVALID_ARGUMENT],
  'processed-12': [isProcessed, UNIMPLEMENTED],
  metas: [hasMetas, INVALID_ARGUMENT],
  'deshred-3': [isDeshred, INVALID_ARGUMENT],
  'deshred-12': [isDeshred, UNIMPLEMENTED],
}

const chain = new Chain()

/** A server of the chain's feed that refuses what is of this kind with this code. */
const openRefusing = async ([isRefused, code]: readonly [Kind, number]) => {
  const requests: SubscribeRequest[] = []
  const geyser = await openGeyser(chain, {
    admit: (request, isEarly) => {
      if (!isEarly) requests.push(request)
      if (isRefused(request, isEarly)) throw new GrpcError(code, 'not in this subscription')
    },
  })
  t.teardown(() => geyser.close())
  return { geyser, requests }
}

const sources = new Map<string, Awaited<ReturnType<typeof openRefusing>>>()
for (const [network, refused] of Object.entries(REFUSED))
  sources.set(network, await openRefusing(refused))
// All of them have its genesis.
chain.start()
const accounts = createSampleAccounts(chain)
chain.tick()
const clock = setInterval(() => chain.tick(), 100)
const stopTraffic = startTraffic(chain, accounts, { perSecond: 20 })
t.teardown(() => {
  clearInterval(clock)
  stopTraffic()
})
// One service for all cases: each has a network with a source of its own.
const feeds = Array.from(sources, ([network, { geyser }]) => [
  network,
  { endpoint: geyser.url, startSlot: 1, transactions: 'full' },
])
const prepared = await prepareServe(
  t,
  Object.fromEntries(feeds),
  { processes: { edgeCount: 1 } },
  { hasGrpc: true },
)
const service = await prepared.start()

/** The network of this name, once its index follows the chain. */
const follow = async (network: string) => {
  const source = sources.get(network)
  if (source === undefined) throw new Error(`${network} has no source`)
  const token = prepared.tokenOf(network, 'fra')
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
    const { slot } = chain.tip
    const feed = open(CONFIRMED_SLOTS)
    await feed.until(({ slot: update }) => Number(update?.slot) > slot)
    feed.close()
  }
  await untilFollowing()
  const metric = async (name: string): Promise<number> => {
    const page = await (await fetch(prepared.metricsUrl)).text()
    return Number(new RegExp(`^${name}\\{.*network="${network}".*\\} (\\S+)$`, 'm').exec(page)?.[1])
  }
  /** The lines of the log about it. */
  const output = (): string => {
    const lines = service.output().split('\n')
    return lines.filter(line => line.includes(`"network":"${network}"`)).join('\n')
  }
  return { ...source, metric, open, openEarly, output, untilFollowing }
}

t.jobs = sources.size

for (const code of [INVALID_ARGUMENT, UNIMPLEMENTED])
  t.test(`block footers are refused with ${code}`, async t => {
    const service = await follow(`footers-${code}`)
    const { geyser, metric, output, requests, untilFollowing } = service
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
    geyser.dropConnections()
    await until('it connects again', () => asked().length === 3)
    t.strictSame(asked(), [1, 0, 0], 'they are not asked for again')
    await untilFollowing()
    // What clients ask for besides is served.
    await service.open(ALL).until(({ account }) => account !== undefined)
    await service.openEarly().until(({ deshredTransaction }) => deshredTransaction !== undefined)
  })

t.test('footers are requested where nothing refuses them', async t => {
  const { metric } = await follow('nothing')
  t.equal(await metric('slotline_feed_footers'), 1)
})

t.test('PROCESSED is refused with INVALID_ARGUMENT', async t => {
  const service = await follow('processed-3')
  for (const ask of [ALL, SLOTS, ALL, SLOTS]) t.match(await service.open(ask).ended(), NOT_ALLOWED)
  const count = service.requests.filter(({ commitment }) => commitment === PROCESSED).length
  t.ok(count <= 4, `the source was asked ${count} times`)
  await service.untilFollowing()
  await service.openEarly().until(({ deshredTransaction }) => deshredTransaction !== undefined)
})

t.test('PROCESSED is refused with UNIMPLEMENTED', async t => {
  const service = await follow('processed-12')
  for (const ask of [ALL, SLOTS]) t.match(await service.open(ask).ended(), NO_CALL)
  await service.untilFollowing()
})

t.test('one kind at PROCESSED is refused', async t => {
  const service = await follow('metas')
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
    const service = await follow(`deshred-${code}`)
    for (let count = 0; count < 2; count++) t.match(await service.openEarly().ended(), refused)
    await service.untilFollowing()
    await service.open(ALL).until(({ transaction }) => transaction !== undefined)
  })
