import type { SubscribeUpdate } from '@triton-one/yellowstone-grpc'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { encodeFrameHeader } from '../../src/sandbox/geyser/grpc-message.js'
import { openGrpcServer, type GrpcStream } from '../../src/sandbox/geyser/grpc-server.js'
import { startSandboxChain, type SandboxChainOptions } from '../../src/sandbox/sandbox-chain.js'
import { childPids } from '../fixtures/processes/deployment.js'
import { requirePid } from '../fixtures/processes/require-pid.js'
import { prepareServe } from '../fixtures/processes/serve.js'
import { type Ask, openDeshred, openFeed, PROCESSED } from '../fixtures/sandbox/sandbox.js'
import { yellowstone } from '../fixtures/sandbox/yellowstone.js'
import { until } from '../fixtures/until.js'

const { SubscribeUpdate: UpdateCodec } = yellowstone
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
const LOSS = /^the source was interrupted after slot \d+: updates are missing from there to/

const startChain = async (t: Test, options: Partial<SandboxChainOptions> = {}) => {
  const chain = await startSandboxChain({ slotMs: 100, trafficPerSecond: 20, ...options })
  t.teardown(() => chain.close())
  return chain
}

/** A service whose network has this source. */
const startService = async (t: Test, endpoint: string, feed: object = {}) => {
  const prepared = await prepareServe(
    t,
    { one: { endpoint, startSlot: 1, transactions: 'full', xToken: SECRET, ...feed } },
    { processes: { edgeCount: 1 } },
    { hasGrpc: true, limits: { socketsMax: 200 } },
  )
  const service = await prepared.start()
  const open = (ask: Ask) => {
    const feed = openFeed(prepared.grpcUrl, {}, prepared.tokenOf('one', 'fra'))
    t.teardown(() => feed.close())
    feed.ask(ask)
    return feed
  }
  const openEarly = () => {
    const feed = openDeshred(prepared.grpcUrl, prepared.tokenOf('one', 'fra'))
    t.teardown(() => feed.close())
    feed.ask({ deshredTransactions: { d: {} }, slots: { s: {} } })
    return feed
  }
  const { metricsUrl } = prepared
  return { metricsUrl, open, openEarly, service, output: () => service.output() }
}

const metricOf = async (url: string, name: string, commitment = 'processed') => {
  const page = await (await fetch(url)).text()
  const labels = ['network="one"', `commitment="${commitment}"`]
  const has = (line: string) => labels.every(label => line.includes(label))
  const line = page.split('\n').find(one => one.startsWith(`${name}{`) && has(one))
  return Number(line?.split(' ').at(-1))
}

t.test('the source is interrupted and comes back', async t => {
  const chain = await startChain(t)
  const { metricsUrl, open, openEarly, output } = await startService(t, chain.geyserUrl)
  const feed = open(ALL)
  await feed.until(({ transaction }) => transaction !== undefined)
  const early = openEarly()
  await early.until(({ deshredTransaction }) => deshredTransaction !== undefined)
  chain.geyser.dropStreams({ code: INTERNAL, details: `lagged ${SECRET} at http://feed:1/path` })
  for (const one of [feed, early]) {
    t.match(await one.ended(), { code: DATA_LOSS, details: LOSS })
    t.notMatch((await one.ended()).details, SECRET)
  }
  // A stream that begins meanwhile waits for the source.
  const next = open(ALL)
  await next.until(({ account }) => account !== undefined)
  t.equal(await metricOf(metricsUrl, 'slotline_grpc_source_losses_total'), 1)
  t.equal(await metricOf(metricsUrl, 'slotline_grpc_source_losses_total', 'deshred'), 1)
  t.equal(await metricOf(metricsUrl, 'slotline_grpc_source_opened_total'), 2)
  t.equal(await metricOf(metricsUrl, 'slotline_grpc_source_open'), 1)
  chain.geyser.dropConnections()
  t.match(await next.ended(), { code: DATA_LOSS, details: LOSS })
  await chain.close()
  const last = open(ALL)
  t.match(await last.ended(), {
    code: UNAVAILABLE,
    details: 'the source of this network cannot be reached: try again',
  })
  t.match(output(), /a stream of the source has failed/)
  t.match(output(), 'lagged [hidden] at http://feed:1/path')
  t.notMatch(output(), SECRET, 'the log has no token of the source')
})

t.test('an index that gains nothing has the source for itself', async t => {
  const chain = await startChain(t)
  const { open, output, service } = await startService(t, chain.geyserUrl, {
    blockSilenceMs: 2_000,
  })
  const feed = open(ALL)
  await feed.until(({ transaction }) => transaction !== undefined)
  await open({ slots: { s: {} } }).until(({ slot }) => slot !== undefined)
  const [indexer = 0] = childPids(requirePid(service.supervisor.pid), 'slotline indexer')
  process.kill(indexer, 'SIGSTOP')
  t.match(await feed.ended(), { code: DATA_LOSS, details: LOSS })
  process.kill(indexer, 'SIGCONT')
  await until('the log says why', () => output().includes('the index gains no blocks'))
})

t.test('a source without SubscribeDeshred', async t => {
  const chain = await startChain(t, { geyser: { hasDeshred: false } })
  const { open, openEarly } = await startService(t, chain.geyserUrl)
  const refused = { code: UNIMPLEMENTED, details: /source of this network does not/ }
  for (let count = 0; count < 3; count++) t.match(await openEarly().ended(), refused)
  await open(ALL).until(({ slot }) => slot !== undefined)
})

t.test('a hundred streams with 10,000 addresses share one of the source', async t => {
  const chain = await startChain(t)
  const { metricsUrl, open } = await startService(t, chain.geyserUrl)
  const account = Array.from({ length: 10_000 }, (_none, index) => {
    const key = Buffer.alloc(32, 3)
    key.writeUInt32LE(index)
    return bs58.encode(key)
  })
  const feeds = Array.from({ length: 100 }, (_none, index) =>
    open({ ...ALL, accounts: { many: { account }, few: { account: account.slice(index, 1) } } }),
  )
  for (const feed of feeds) await feed.until(({ transaction }) => transaction !== undefined)
  t.equal(await metricOf(metricsUrl, 'slotline_grpc_source_opened_total'), 1)
  for (const feed of feeds) feed.close()
})

t.test('a client that does not read ends, and delays nobody', async t => {
  const chain = await startChain(t)
  const { metricsUrl, open } = await startService(t, chain.geyserUrl)
  const bystander = open({ slots: { s: {} }, commitment: PROCESSED })
  const slow = open(ALL)
  await slow.until(({ slot }) => slot !== undefined)
  slow.call.pause()
  const data = Buffer.alloc(4 * 1024 * 1024, 1)
  const owner = Buffer.alloc(32, 9)
  let longestMs = 0
  const lagged = async () => {
    const page = await (await fetch(metricsUrl)).text()
    return /slotline_grpc_lagged_total\{process="geyser"\} 1/.test(page)
  }
  for (let count = 0; !(await lagged()) || count < 20; count++) {
    if (count >= 400) throw new Error('it is not ended within its bound')
    const state = { lamports: 10n ** 12n, owner, executable: false, rentEpoch: 0n, data }
    chain.chain.load(Buffer.alloc(32, 1 + (count % 200)), state)
    const beganMs = Date.now()
    await bystander.until(({ slot }) => Number(slot?.status) === PROCESSED)
    longestMs = Math.max(longestMs, Date.now() - beganMs)
  }
  slow.call.resume()
  t.match(await slow.ended(), { code: INTERNAL, details: 'lagged to receive geyser messages' })
  t.ok(longestMs < 5_000, `the bystander waited for ${longestMs} ms`)
})

/** Without a block the index has no transactions to serve. */
const FEW = { accounts: { a: {} }, slots: { s: {} }, commitment: PROCESSED }

/** A source that answers each Subscribe at PROCESSED with these bytes, and others as a chain. */
const startFalse = async (t: Test, answer: (stream: GrpcStream) => void) => {
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
            answer(stream)
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
const slotUpdate = () =>
  frame(UpdateCodec.encode(UpdateCodec.fromPartial({ slot: { slot: '7', status: 0 } })).finish())
const accountUpdate = (pubkey: Uint8Array, byteCount: number) =>
  UpdateCodec.encode(
    UpdateCodec.fromPartial({
      filters: [SECRET],
      account: {
        account: { pubkey, owner: Buffer.alloc(32), data: Buffer.alloc(byteCount) },
        slot: '8',
      },
    }),
  ).finish()

t.test('a source that sends what it should not', async t => {
  const cases: readonly (readonly [name: string, bytes: Buffer, code: number])[] = [
    ['no protobuf', frame(Buffer.from('garbage')), DATA_LOSS],
    ['an address of 31 bytes', frame(accountUpdate(Buffer.alloc(31), 1)), DATA_LOSS],
    ['more than decodeBytesMax', encodeFrameHeader(64 * 1024 * 1024), DATA_LOSS],
    ['a frame of 4 GiB', encodeFrameHeader(2 ** 32 - 1), DATA_LOSS],
  ]
  for (const [name, bytes, code] of cases)
    await t.test(name, async t => {
      const source = await startFalse(t, stream =>
        stream.write(Buffer.concat([slotUpdate(), bytes])),
      )
      const feed = { decodeBytesMax: 16 * 1024 * 1024 }
      const { open } = await startService(t, source.url, feed)
      const stream = open(FEW)
      await stream.until(({ slot }) => slot?.slot === '7')
      const { code: ended, details } = await stream.ended()
      t.match({ code: ended, details }, { code, details: /^the source was interrupted after slot/ })
      // Those that try again at once do not reach the source as often.
      const before = source.opened()
      const endMs = Date.now() + 1_000
      while (Date.now() < endMs) await open(FEW).ended()
      t.ok(source.opened() - before <= 4, `${source.opened() - before} attempts in a second`)
    })
  await t.test('the largest message', async t => {
    const bytes = frame(accountUpdate(Buffer.alloc(32, 5), 15 * 1024 * 1024))
    const source = await startFalse(t, stream => stream.write(Buffer.concat([slotUpdate(), bytes])))
    const { open } = await startService(t, source.url, { decodeBytesMax: 16 * 1024 * 1024 })
    const isWhole = ({ account }: SubscribeUpdate) =>
      account?.account?.data.length === 15 * 1024 * 1024
    const updates = await open(FEW).until(isWhole)
    t.strictSame(updates.at(-1)?.filters, ['a'], 'labels are those of the client')
  })
})
