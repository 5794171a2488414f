// An access that takes gRPC streams as fast as it may: it gets its bytes a second, and streams of
// another access are as early as without it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSandboxChain } from '../../../src/sandbox/sandbox-chain.js'
import { prepareServe } from '../../fixtures/processes/serve.js'
import { CONFIRMED, openFeed } from '../../fixtures/sandbox/sandbox.js'
import { latencyMax } from '../../fixtures/soak.js'
import { until } from '../../fixtures/until.js'

const MIB = 1024 * 1024
/** Of an access, and what its streams would take: 4 MiB a slot for each of them. */
const BYTES_PER_SECOND = 2 * MIB
const SLOT_MS = 200
const ACCOUNT_BYTES = 4 * MIB
const GREEDY = 3
const SECONDS = 6
/** By which a stream of another access may be later than without the greedy one, in the median. */
const LATER_MS = 20

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

t.test('an access at its bytes a second delays no other access', async t => {
  t.setTimeout(120_000)
  const chain = await startSandboxChain({ slotMs: SLOT_MS, trafficPerSecond: 5 })
  t.teardown(() => chain.close())
  const prepared = await prepareServe(
    t,
    { one: { endpoint: chain.geyserUrl, startSlot: 1 } },
    {
      processes: { edgeCount: 1 },
      products: [{ id: 'node', name: 'Node access' }],
      pubsub: { streamBytesPerSecondMax: BYTES_PER_SECOND },
    },
    { hasGrpc: true },
  )
  await prepared.start()
  const admin = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const token = readFileSync(join(prepared.dataDir, 'admin.token'), 'utf8').trim()
    const answer = await fetch(`${prepared.dashboardUrl}admin${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return Object(await answer.json())
  }
  const grant = { subject: 'ben', kind: 'pass', product: 'node' }
  const { accessId } = await admin('/accesses', grant)
  const { token } = await admin(`/accesses/${String(accessId)}/networks/one/locations/fra/token`)

  const slots = openFeed(prepared.grpcUrl, {}, String(token))
  const source = openFeed(chain.geyserUrl)
  t.teardown(() => void [slots, source].map(feed => feed.close()))
  /** When the source, and when the other access, had each slot. */
  const atSource = new Map<number, number>()
  const atOther = new Map<number, number>()
  for (const [feed, at] of [
    [source, atSource],
    [slots, atOther],
  ] as const) {
    feed.call.on('data', ({ slot }) => {
      const isNew = Number(slot?.status) === CONFIRMED && !at.has(Number(slot?.slot))
      if (isNew) at.set(Number(slot?.slot), performance.now())
      feed.updates.length = 0
    })
    feed.ask({ slots: { s: {} }, commitment: CONFIRMED })
  }
  // The same writes in both halves, which only one of them is asked for.
  const owner = Buffer.alloc(32, 9)
  const timer = setInterval(() => {
    const data = Buffer.alloc(ACCOUNT_BYTES, Math.random() * 256)
    const state = { lamports: 10n ** 12n, owner, executable: false, rentEpoch: 0n, data }
    chain.chain.load(Buffer.alloc(32, 5), state)
  }, SLOT_MS)
  t.teardown(() => clearInterval(timer))
  const delaysOf = async (): Promise<number[]> => {
    const first = chain.chain.tip.slot + 2
    const last = first + (SECONDS * 1_000) / SLOT_MS
    await until('slots', () => atOther.has(last))
    return [...atOther]
      .filter(([slot]) => slot >= first && slot <= last)
      .map(([slot, ms]) => ms - (atSource.get(slot) ?? ms))
  }
  await until('a slot', () => atOther.size > 0)
  const alone = await delaysOf()

  let bytes = 0
  for (let count = 0; count < GREEDY; count++) {
    const feed = openFeed(prepared.grpcUrl, {}, prepared.tokenOf('one', 'fra'))
    t.teardown(() => feed.close())
    feed.call.on('data', ({ account }) => {
      bytes += account?.account?.data.length ?? 0
      feed.updates.length = 0
    })
    feed.ask({ accounts: { a: {} }, commitment: CONFIRMED })
  }
  await until('the burst is over', () => bytes >= BYTES_PER_SECOND)
  const [before, beganMs] = [bytes, performance.now()]
  const beside = await delaysOf()
  const perSecond = (bytes - before) / ((performance.now() - beganMs) / 1_000)
  t.comment(
    `${(perSecond / MIB).toFixed(2)} MiB a second; the other access is ${median(alone).toFixed(1)} ms ` +
      `behind the source without it, ${median(beside).toFixed(1)} ms beside it`,
  )
  // An update may be larger than what is left, and those of all streams come together.
  t.ok(perSecond <= BYTES_PER_SECOND + (GREEDY * ACCOUNT_BYTES) / SECONDS, `${perSecond} a second`)
  t.ok(perSecond >= BYTES_PER_SECOND / 2, `${perSecond} a second`)
  const later = median(beside) - median(alone)
  t.ok(later <= latencyMax(LATER_MS), `${later} ms later`)
})
