import type { SubscribeUpdate } from '@triton-one/yellowstone-grpc'
import bs58 from 'bs58'
import t from 'tap'
import { encodeFrameHeader } from '../../src/sandbox/geyser/grpc-message.js'
import { openGrpcServer } from '../../src/sandbox/geyser/grpc-server.js'
import { startSandboxChain, type SandboxChainOptions } from '../../src/sandbox/sandbox-chain.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import {
  type Ask,
  openDeshred,
  openFeed,
  PROCESSED,
  toRequest,
} from '../fixtures/sandbox/sandbox.js'
import { yellowstone } from '../fixtures/sandbox/yellowstone.js'
import { until } from '../fixtures/until.js'

const { SubscribeRequest: RequestCodec, SubscribeUpdate: UpdateCodec } = yellowstone
const [UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS] = [12, 13, 14, 15]
/** Of the operator: no client and no log may have it. */
const SECRET = 'operators-own-token'
const ALL = {
  accounts: { a: {} },
  slots: { s: {} },
  transactions: { t: {} },
  blocksMeta: { m: {} },
  commitment: PROCESSED,
}
/** Without a block the index has no transactions to serve. */
const FEW = { accounts: { a: {} }, slots: { s: {} }, commitment: PROCESSED }
const LOSS = /^the source was interrupted after slot \d+: updates are missing from there to/

const startChain = async (options: Partial<SandboxChainOptions> = {}) => {
  const chain = await startSandboxChain({ slotMs: 100, trafficPerSecond: 20, ...options })
  t.teardown(() => chain.close())
  return chain
}

/** A source that answers each Subscribe at PROCESSED with these bytes, and others with nothing. */
const startFalse = async (answer: Buffer) => {
  let opened = 0
  const server = await openGrpcServer(
    {
      unary: {},
      streaming: {
        '/geyser.Geyser/Subscribe': stream => ({
          message: bytes => {
            const { commitment, ping } = yellowstone.SubscribeRequest.decode(bytes)
            if (ping !== undefined || commitment !== PROCESSED) return
            opened++
            stream.write(answer)
          },
          drained: () => {},
          closed: () => {},
        }),
      },
    },
    { host: '127.0.0.1', port: 0, requestBytesMax: 1024 * 1024 },
  )
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${server.port}`, opened: () => opened }
}

const frame = (bytes: Uint8Array): Buffer => Buffer.concat([encodeFrameHeader(bytes.length), bytes])
const SLOT_UPDATE = frame(
  UpdateCodec.encode(UpdateCodec.fromPartial({ slot: { slot: '7', status: 0 } })).finish(),
)
const accountUpdate = (pubkey: Uint8Array, byteCount: number) =>
  frame(
    UpdateCodec.encode(
      UpdateCodec.fromPartial({
        filters: [SECRET],
        account: {
          account: { pubkey, owner: Buffer.alloc(32), data: Buffer.alloc(byteCount) },
          slot: '8',
        },
      }),
    ).finish(),
  )

const LARGEST_BYTES = 15 * 1024 * 1024
/** What a source sends behind its first slot, by the name of its network. */
const SENT: Readonly<Record<string, Buffer>> = {
  'no-protobuf': frame(Buffer.from('garbage')),
  'short-address': accountUpdate(Buffer.alloc(31), 1),
  'over-decode-bytes-max': encodeFrameHeader(64 * 1024 * 1024),
  'four-gib': encodeFrameHeader(2 ** 32 - 1),
  largest: accountUpdate(Buffer.alloc(32, 5), LARGEST_BYTES),
}

const interruptedChain = await startChain()
const earlyChain = await startChain({ geyser: { hasDeshred: false } })
const steadyChain = await startChain()
const sources = new Map<string, Awaited<ReturnType<typeof startFalse>>>()
for (const [network, bytes] of Object.entries(SENT))
  sources.set(network, await startFalse(Buffer.concat([SLOT_UPDATE, bytes])))

// One service for all cases: each has a network with a source of its own.
const feedOf = (endpoint: string, options: object = {}) => ({
  ...{ endpoint, startSlot: 1, transactions: 'full', xToken: SECRET },
  ...options,
})
const falseFeeds = Array.from(sources, ([network, { url }]) => [
  network,
  feedOf(url, { decodeBytesMax: 16 * 1024 * 1024 }),
])
const prepared = await prepareServe(
  t,
  {
    interrupted: feedOf(interruptedChain.geyserUrl),
    silent: feedOf(earlyChain.geyserUrl, { blockSilenceMs: 2_000 }),
    early: feedOf(earlyChain.geyserUrl),
    steady: feedOf(steadyChain.geyserUrl),
    ...Object.fromEntries(falseFeeds),
  },
  // A stopped indexer is not replaced before its silence was noticed.
  { processes: { edgeCount: 1, hungMs: 600_000 } },
  { hasGrpc: true, limits: { socketsMax: 200 } },
)
const service = await prepared.start()
const { grpcUrl, metricsUrl, tokenOf } = prepared

const open = (network: string, ask: Ask, more?: Uint8Array) => {
  const feed = openFeed(grpcUrl, {}, tokenOf(network, 'fra'))
  t.teardown(() => feed.close())
  feed.ask(ask, more)
  return feed
}

const openEarly = (network: string) => {
  const feed = openDeshred(grpcUrl, tokenOf(network, 'fra'))
  t.teardown(() => feed.close())
  feed.ask({ deshredTransactions: { d: {} }, slots: { s: {} } })
  return feed
}

/** The lines of the log about a network. */
const outputOf = (network: string): string =>
  service
    .output()
    .split('\n')
    .filter(line => line.includes(`"network":"${network}"`))
    .join('\n')

const metricOf = async (network: string, name: string, commitment = 'processed') => {
  const page = await (await fetch(metricsUrl)).text()
  const labels = [`network="${network}"`, `commitment="${commitment}"`]
  const has = (line: string) => labels.every(label => line.includes(label))
  const line = page.split('\n').find(one => one.startsWith(`${name}{`) && has(one))
  return Number(line?.split(' ').at(-1))
}

// One of them takes as long as all others.
t.jobs = 6

t.test('the source is interrupted and comes back', async t => {
  const network = 'interrupted'
  const feed = open(network, ALL)
  await feed.until(({ transaction }) => transaction !== undefined)
  const early = openEarly(network)
  await early.until(({ deshredTransaction }) => deshredTransaction !== undefined)
  const { geyser } = interruptedChain
  geyser.dropStreams({ code: INTERNAL, details: `lagged ${SECRET} at http://feed:1/path` })
  for (const one of [feed, early]) {
    t.match(await one.ended(), { code: DATA_LOSS, details: LOSS })
    t.notMatch((await one.ended()).details, SECRET)
  }
  // A stream that begins meanwhile waits for the source.
  const next = open(network, ALL)
  await next.until(({ account }) => account !== undefined)
  t.equal(await metricOf(network, 'slotline_grpc_source_losses_total'), 1)
  t.equal(await metricOf(network, 'slotline_grpc_source_losses_total', 'deshred'), 1)
  t.equal(await metricOf(network, 'slotline_grpc_source_opened_total'), 2)
  t.equal(await metricOf(network, 'slotline_grpc_source_open'), 1)
  geyser.dropConnections()
  t.match(await next.ended(), { code: DATA_LOSS, details: LOSS })
  await interruptedChain.close()
  const last = open(network, ALL)
  t.match(await last.ended(), {
    code: UNAVAILABLE,
    details: 'the source of this network cannot be reached: try again',
  })
  t.match(outputOf(network), /a stream of the source has failed/)
  t.match(outputOf(network), 'lagged [hidden] at http://feed:1/path')
  t.notMatch(service.output(), SECRET, 'the log has no token of the source')
})

const early = t.test('a source without SubscribeDeshred', async t => {
  const refused = { code: UNIMPLEMENTED, details: /source of this network does not/ }
  for (let count = 0; count < 3; count++) t.match(await openEarly('early').ended(), refused)
  await open('early', ALL).until(({ slot }) => slot !== undefined)
})

const silent = t.test('an index that gains nothing has the source for itself', async t => {
  const feed = open('silent', ALL)
  await feed.until(({ transaction }) => transaction !== undefined)
  await open('silent', { slots: { s: {} } }).until(({ slot }) => slot !== undefined)
  const pid = /"process":"indexer silent","childPid":(\d+)/.exec(service.output())?.[1]
  const indexer = requirePid(Number(pid ?? 0))
  process.kill(indexer, 'SIGSTOP')
  t.match(await feed.ended(), { code: DATA_LOSS, details: LOSS })
  process.kill(indexer, 'SIGCONT')
  await until('the log says why', () => outputOf('silent').includes('the index gains no blocks'))
})

void Promise.all([early, silent]).then(() => earlyChain.close())

t.test('a hundred streams with 10,000 addresses share one of the source', async t => {
  const account = Array.from({ length: 10_000 }, (_none, index) => {
    const key = Buffer.alloc(32, 3)
    key.writeUInt32LE(index)
    return bs58.encode(key)
  })
  // Encoded once: the filters of two messages in a row are those of both.
  const many = RequestCodec.encode(toRequest({ ...ALL, accounts: { many: { account } } })).finish()
  const feeds = account
    .slice(0, 100)
    .map(one => open('steady', { accounts: { few: { account: [one] } } }, many))
  for (const feed of feeds) await feed.until(({ transaction }) => transaction !== undefined)
  t.equal(await metricOf('steady', 'slotline_grpc_source_opened_total'), 1)
  for (const feed of feeds) feed.close()
})

t.test('a client that does not read ends, and delays nobody', async t => {
  const bystander = open('steady', { slots: { s: {} }, commitment: PROCESSED })
  const slow = open('steady', ALL)
  await slow.until(({ slot }) => slot !== undefined)
  slow.call.pause()
  const data = Buffer.alloc(4 * 1024 * 1024, 1)
  const owner = Buffer.alloc(32, 9)
  let longestMs = 0
  const lagged = async () => {
    const page = await (await fetch(metricsUrl)).text()
    return /slotline_grpc_lagged_total\{process="geyser"\} 1/.test(page)
  }
  // More than what is kept for those that are behind, and then a tenth of it.
  for (let count = 0; count < 20 || count % 5 !== 0 || !(await lagged()); count++) {
    if (count >= 400) throw new Error('it is not ended within its bound')
    const state = { lamports: 10n ** 12n, owner, executable: false, rentEpoch: 0n, data }
    if (count < 20 || count % 10 === 0)
      steadyChain.chain.load(Buffer.alloc(32, 1 + (count % 200)), state)
    const beganMs = Date.now()
    await bystander.until(({ slot }) => Number(slot?.status) === PROCESSED)
    longestMs = Math.max(longestMs, Date.now() - beganMs)
  }
  slow.call.resume()
  t.match(await slow.ended(), { code: INTERNAL, details: 'lagged to receive geyser messages' })
  t.ok(longestMs < 5_000, `the bystander waited for ${longestMs} ms`)
})

t.test('a source that sends what it should not', { jobs: sources.size }, async t => {
  for (const [network, source] of sources)
    t.test(network, async t => {
      const stream = open(network, FEW)
      if (network === 'largest') {
        const isWhole = ({ account }: SubscribeUpdate) =>
          account?.account?.data.length === LARGEST_BYTES
        const updates = await stream.until(isWhole)
        t.strictSame(updates.at(-1)?.filters, ['a'], 'labels are those of the client')
        return
      }
      await stream.until(({ slot }) => slot?.slot === '7')
      const { code, details } = await stream.ended()
      t.match(
        { code, details },
        { code: DATA_LOSS, details: /^the source was interrupted after slot/ },
      )
      // Those that try again at once do not reach the source as often.
      const before = source.opened()
      const endMs = Date.now() + 1_000
      while (Date.now() < endMs) await open(network, FEW).ended()
      t.ok(source.opened() - before <= 4, `${source.opened() - before} attempts in a second`)
    })
})
