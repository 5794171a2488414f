import '../../fixtures/native/small-young-generation.js'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { defaults } from '../../../src/rpc/options.js'
import { RpcError } from '../../../src/shared/errors.js'
import { createTransactionChecks } from '../../../src/native/transactions.js'
import { decodeMemcmp, decodePubkey, encodePubkey } from '../../../src/native/encoding.js'
import { sharedCells } from '../../../src/native/os.js'
import type { Reader } from '../../../src/native/reader.js'
import type { Reads, ReplyBytes } from '../../../src/native/reads.js'
import { createRpcAnswer } from '../../../src/native/rpc-answer.js'
import { applyAccounts, openStore, openStoreAt } from '../../fixtures/rpc/store.js'
import { readVectors, VECTOR_SLOT } from '../../fixtures/rpc/vectors.js'

const MIB = 1024 * 1024
/** Calls that read a store; their leaks are the smallest. */
const CALLS = 1_000_000
/** A leak of 16 bytes per call exceeds this. */
const HEAP_MAX_MIB = 12
/** Allocators keep freed memory; a leak of 80 bytes per call exceeds this. */
const RSS_MAX_MIB = 64

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

/** Memory after all garbage is collected; finalisers of the addon run in later turns. */
const settled = async (): Promise<{ heapMib: number; rssMib: number }> => {
  if (typeof collect !== 'function') throw new Error('no collector to call')
  for (let turn = 0; turn < 6; turn++) {
    collect()
    await setImmediate()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heapMib: (heapUsed + external) / MIB, rssMib: rss / MIB }
}

/** The first two are a warm-up. */
const ROUNDS = 10

/** Repeats `run`: memory must return to that after the first rounds. */
const returnsToBaseline = async (t: Test, run: () => unknown): Promise<void> => {
  await run()
  await run()
  const before = await settled()
  for (let round = 0; round < ROUNDS - 2; round++) await run()
  const after = await settled()
  const heapMib = after.heapMib - before.heapMib
  const rssMib = after.rssMib - before.rssMib
  t.ok(heapMib < HEAP_MAX_MIB, `heap ${heapMib.toFixed(1)} MiB more`)
  t.ok(rssMib < RSS_MAX_MIB, `RSS ${rssMib.toFixed(1)} MiB more`)
}

const vector = readVectors('getTokenLargestAccounts').find(({ name }) => name.startsWith('top-20'))
const accounts = vector?.accounts ?? []
const request = Buffer.from(vector?.request ?? '')
const mint = bs58.decode((JSON.parse(request.toString()) as { params: [string] }).params[0])
const holder = bs58.decode(accounts.at(-1)?.pubkey ?? '')
const wallet = Buffer.from(accounts.at(-1)?.account.data[0] ?? '', 'base64').subarray(32, 64)
const program = bs58.decode(accounts.at(-1)?.account.owner ?? '')
const absent = new Uint8Array(32).fill(250)

const open = (t: Test): { reads: Reads; reader: Reader } => {
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, accounts, VECTOR_SLOT)
  return { reads: reader.reads(defaults), reader }
}
const repeat = (count: number, run: () => unknown): void => {
  for (let index = 0; index < count; index++) run()
}
const refused = (run: () => unknown): void => {
  try {
    run()
  } catch (error) {
    if (error instanceof RpcError) return
    throw error
  }
  throw new Error('was not refused')
}

t.test('point reads', async t => {
  const { reads } = open(t)
  const kinds = [
    () => reads.fast(request),
    () => reads.latestBlockhash('finalized'),
    () => reads.block('finalized'),
    () => reads.account(mint, 'jsonParsed', undefined),
    () => reads.account(holder, 'base64', { offset: 0, length: 8 }),
    () => reads.accounts(Buffer.concat([mint, absent, holder]), 'base64+zstd', undefined),
    () => reads.tokenBalance(holder),
    () => reads.tokenSupply(mint),
    () => reads.largestHolders(mint),
    () => encodePubkey(decodePubkey('So11111111111111111111111111111111111111112')),
  ]
  const count = CALLS / ROUNDS / kinds.length
  await returnsToBaseline(t, () => kinds.forEach(run => repeat(count, run)))
})

t.test('refusals', async t => {
  const { reads } = open(t)
  const kinds = [
    () => refused(() => reads.tokenBalance(absent)),
    () => refused(() => reads.tokenSupply(holder)),
    () => refused(() => decodePubkey('0'.repeat(40))),
    () => refused(() => decodeMemcmp('!', 'base64')),
  ]
  await returnsToBaseline(t, () => kinds.forEach(run => repeat(1_000, run)))
})

t.test('tasks that are read, closed early, or never read', async t => {
  const { reads, reader } = open(t)
  const page = { encoding: 'base64', dataSlice: undefined, limit: 100, after: undefined } as const
  const many = Buffer.concat(new Array<Uint8Array>(200).fill(holder))
  const kinds: (() => ReplyBytes | Promise<ReplyBytes>)[] = [
    () => reads.programPage({ ...page, program, filters: [], changedSinceSlot: undefined }),
    () => reads.ownerPage({ ...page, wallet, filter: { mint } }),
    () => reads.accounts(many, 'base64', undefined),
  ]
  const into = new Uint8Array(1_000)
  const run = async (): Promise<void> => {
    for (let index = 0; index < 480; index++) {
      const reply = await kinds[index % kinds.length]?.()
      if (reply === undefined || reply instanceof Uint8Array) throw new Error('not from a pool')
      const end = Math.floor(index / kinds.length) % 3
      if (end === 0) while ((await reply.read(into)) > 0);
      if (end === 1) await reply.read(into)
      if (end !== 2) reply.close()
    }
  }
  await returnsToBaseline(t, run)
  const { replyBytesInFlight, scanRunning, streamRunning } = reader.poolStats()
  t.strictSame([replyBytesInFlight, scanRunning, streamRunning], [0, 0, 0], 'no reply is in flight')
})

t.test('opened and closed stores and cells', async t => {
  const { reader, indexer } = openStore(t)
  applyAccounts(indexer, accounts, VECTOR_SLOT)
  const dir = t.testdir({ cells: '' })
  await returnsToBaseline(t, () =>
    repeat(10, () => {
      const other = openStoreAt(join(dir, 'store'))
      other.reader.tip()
      other.close()
      sharedCells(join(dir, 'cells'), 100_000).fill(1)
    }),
  )
  t.equal(reader.tip()?.slot, VECTOR_SLOT)
})

t.test('transaction checks', async t => {
  const checks = createTransactionChecks(
    { tipClasses: [], exemptPrograms: [], signatureRule: 'strict' },
    { verifyThreads: 1, verifyNiceness: 0, verifyQueueMax: 1_024 },
  )
  // Refused before any signature check: possible leaks are the buffer, texts, promise and verdict.
  const record = Buffer.concat([Uint8Array.of(0, 66), Buffer.alloc(66, 1)])
  const text = Buffer.alloc(1_232, 1).toString('base64')
  await returnsToBaseline(t, async () => {
    for (let nth = 0; nth < 10; nth++) {
      const batches = Array.from({ length: 1_000 }, async () => {
        const body = Buffer.allocUnsafeSlow(16 * record.length)
        for (let at = 0; at < body.length; at += record.length) body.set(record, at)
        return checks.checkBatch(body)
      })
      const bundles = Array.from({ length: 1_000 }, async () =>
        checks.checkBundle([text, text], 1_232),
      )
      // Some of the concurrent checks are refused, which must not leak either.
      await Promise.allSettled([...batches, ...bundles])
    }
  })
})

t.test('added and removed subscriptions, and their frames', async t => {
  const { indexer, reader } = openStore(t)
  const fill = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
  const big = {
    pubkey: fill(1),
    lamports: 1n,
    rentEpoch: 0n,
    executable: false,
    owner: fill(2),
    data: Buffer.alloc(100_000, 7),
  }
  let slot = 0
  const apply = (): void => {
    slot++
    indexer.applyBlock({
      slot,
      parentSlot: slot - 1,
      blockhash: fill(slot % 256),
      parentBlockhash: fill((slot - 1) % 256),
      blockHeight: slot,
      accounts: [big],
    })
  }
  apply()
  const fanout = reader.openFanout({ subscriptionsMax: 10_000, chunkBytesMax: MIB })
  t.teardown(() => fanout.close())
  const view = { encoding: 'base64' } as const
  let id = 0
  const add: ((id: number) => void)[] = [
    id => fanout.addAccount(id, absent, view),
    id => fanout.addProgram(id, absent, [{ offset: id, bytes: fill(3) }], view),
    id => fanout.addLogs(id, fill(id % 256)),
    id => fanout.addSignature(id, Buffer.concat([fill(id % 256), fill(4)]), 'finalized', true),
    id => fanout.addSlot(id),
  ]
  let bytes = 0
  const passAll = async (): Promise<void> => {
    for (let hasMore = true; hasMore;) {
      const pass = await fanout.pass()
      if (pass.isLost) throw new Error('lost')
      bytes += pass.frames.length
      hasMore = pass.hasMore
    }
  }
  await returnsToBaseline(t, async () => {
    const first = id + 1
    for (let count = 0; count < 5_000; count++) add[count % add.length]?.(++id)
    for (let count = 0; count < 12; count++) fanout.addAccount(++id, big.pubkey, view)
    await passAll()
    for (let count = 0; count < 5; count++) {
      apply()
      await passAll()
    }
    for (let ended = first; ended <= id; ended++) fanout.remove(ended)
    await passAll()
    repeat(20, () => reader.openFanout({ subscriptionsMax: 1, chunkBytesMax: 1 }).close())
  })
  t.ok(bytes > ROUNDS * 5 * 12 * 100_000, `${bytes} bytes of frames`)
  t.equal(fanout.stats().subscriptions, 0)
})

t.test('an endless upstream answer, and abandoned answers', async t => {
  const account = `{"lamports":1,"data":["${'A'.repeat(4_000)}","base64"],"owner":"${bs58.encode(absent)}","executable":false,"rentEpoch":0,"space":3000}`
  const row = `{"pubkey":"${bs58.encode(absent)}","account":${account}},`
  const rows = Buffer.from(row.repeat(2_000))
  const begin = Buffer.from('{"result":{"context":{"slot":1},"value":[')
  const endless = createRpcAnswer({ kind: 'listed' })
  endless.feed(begin)
  await returnsToBaseline(t, () => {
    for (let at = 0; at < rows.length; at += 65_536) endless.feed(rows.subarray(at, at + 65_536))
    for (let i = 0; i < 100; i++) {
      const left = createRpcAnswer({ kind: 'listed' })
      left.feed(begin)
      left.feed(rows.subarray(0, 10_000))
    }
  })
  t.throws(() => endless.end(), { message: /cut off/ })
})
