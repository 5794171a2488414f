import t, { type Test } from 'tap'
import bs58 from 'bs58'
import type { Owner, Reads, ReplyBytes } from '../../src/native/reads.js'
import { defaults as poolDefaults } from '../../src/native/pool-options.js'
import { openIndexer } from '../../src/native/indexer.js'
import { defaults } from '../../src/rpc/options.js'
import { RpcError } from '../../src/shared/errors.js'
import type { BodySource } from '../../src/shared/http.js'
import { applyAccounts, STORE, type AccountDump } from '../fixtures/rpc/store.js'

const MIB = 1024 ** 2
const PROGRAM = bs58.encode(Buffer.alloc(32, 7))
const ROWS = 40
const key = (nth: number): Uint8Array => new Uint8Array(32).fill(nth + 1)
const ACCOUNTS: AccountDump[] = Array.from({ length: ROWS }, (_, nth) => ({
  pubkey: bs58.encode(key(nth)),
  account: {
    lamports: nth + 1,
    data: [Buffer.alloc(64 * 1024, nth).toString('base64'), 'base64'],
    owner: PROGRAM,
    executable: false,
    rentEpoch: 0,
  },
}))

/** One process has one set of pools. */
const open = (t: Test): Reads => {
  const indexer = openIndexer(t.testdir(), STORE)
  const reader = indexer.openReader({
    ...poolDefaults,
    replyBytesInFlightMax: 16 * MIB,
    streamBytesMax: MIB / 4,
  })
  t.teardown(() => {
    reader.close()
    indexer.close()
  })
  applyAccounts(indexer, ACCOUNTS, 10)
  indexer.setComplete(true)
  return reader.reads(defaults)
}

const whole = { encoding: 'base64', dataSlice: undefined, limit: 1_000, after: undefined } as const
const page = (reads: Reads, owner: Owner): Promise<ReplyBytes> =>
  reads.programPage(
    { ...whole, program: bs58.decode(PROGRAM), filters: [], changedSinceSlot: undefined },
    owner,
  )

const list = async (reads: Reads, count: number, owner: Owner): Promise<ReplyBytes> => {
  const keys = Array.from({ length: count }, (_, nth) => key(nth % ROWS))
  return reads.accounts(Buffer.concat(keys), 'base64', undefined, owner)
}

const toSource = (reply: ReplyBytes): BodySource => {
  if (reply instanceof Uint8Array) throw new Error('not from a pool')
  return reply
}

const drain = async (reply: ReplyBytes): Promise<number> => {
  const source = toSource(reply)
  const into = new Uint8Array(64 * 1024)
  let bytes = 0
  for (let count = 1; count > 0; bytes += count) count = await source.read(into)
  source.close()
  return bytes
}

/** What a reply is refused with, and how long that took. */
const refusal = async (reply: Promise<ReplyBytes>): Promise<[string, number]> => {
  const startMs = performance.now()
  try {
    toSource(await reply).close()
    return ['none', 0]
  } catch (error) {
    return [error instanceof RpcError ? error.name : String(error), performance.now() - startMs]
  }
}

t.test('unread replies of one access and what others ask', async t => {
  const reads = open(t)

  await t.test('its pages are refused at once, those of others are made', async t => {
    const unread = [await page(reads, 'flood'), await page(reads, 'flood')]
    const [name, elapsedMs] = await refusal(page(reads, 'flood'))
    t.equal(name, 'overloaded')
    t.ok(elapsedMs < 10_000, `refused after ${Math.round(elapsedMs)} ms, not at its time-out`)
    const before = toSource(unread[0] ?? Buffer.alloc(0)).refusedCount?.() ?? 0
    t.ok(before >= 1, 'who holds the memory is told that others wait')
    t.ok((await drain(await page(reads, 'other'))) > 3 * MIB)
    t.ok((await drain(await list(reads, ROWS, 'other'))) > 3 * MIB)
    for (const one of unread) toSource(one).close()
    t.ok((await drain(await page(reads, 'flood'))) > 3 * MIB, 'once it has read, it gets more')
  })

  await t.test('its lists hold no threads that those of others need', async t => {
    const isSettled = new Set<number>()
    const slow = Array.from({ length: poolDefaults.streamThreads }, async (_, nth) => {
      const reply = await list(reads, 3_000, 'flood')
      isSettled.add(nth)
      return reply
    })
    // The first ones have begun, and wait for their reader.
    await Promise.race(slow)
    const startMs = performance.now()
    const bytes = await drain(await list(reads, ROWS, 'other'))
    t.ok(bytes > 3 * MIB)
    t.ok(performance.now() - startMs < 10_000, 'it has not waited for a reply of the flood')
    t.ok(isSettled.size < slow.length, 'the flood has not all threads')
    for (const one of slow)
      one.then(
        reply => toSource(reply).close(),
        () => {},
      )
    await Promise.allSettled(slow)
  })
})
