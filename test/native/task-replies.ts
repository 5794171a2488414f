import bs58 from 'bs58'
import t, { type Test } from 'tap'
import type { ReplyBytes } from '../../src/native/reads.js'
import { defaults } from '../../src/rpc/options.js'
import type { BodySource } from '../../src/shared/http.js'
import { countTurns } from '../fixtures/count-turns.js'
import { applyAccounts, openStore, type AccountDump } from '../fixtures/rpc/store.js'

const SLOT = 10
const SYSTEM = '11111111111111111111111111111111'
const key = (nth: number): Uint8Array => new Uint8Array(32).fill(nth)
const ACCOUNTS: AccountDump[] = Array.from({ length: 64 }, (_, nth) => ({
  pubkey: bs58.encode(key(nth + 1)),
  account: {
    lamports: nth + 1,
    data: ['', 'base64'],
    owner: SYSTEM,
    executable: false,
    rentEpoch: 0,
  },
}))

const open = (t: Test) => {
  const { indexer, reader } = openStore(t)
  applyAccounts(indexer, ACCOUNTS, SLOT)
  return { reader, reads: reader.reads(defaults) }
}

/** More addresses than the event loop reads itself, all of one account. */
const manyOf = (nth: number): Uint8Array => Buffer.concat(new Array<Uint8Array>(200).fill(key(nth)))

const toSource = async (reply: ReplyBytes | Promise<ReplyBytes>): Promise<BodySource> => {
  const source = await reply
  if (source instanceof Uint8Array) throw new Error('not from a pool')
  return source
}

/** The lamports of all accounts of a reply, which is read in small parts. */
const lamportsIn = async (source: BodySource): Promise<Set<number>> => {
  const into = new Uint8Array(999)
  let text = ''
  for (;;) {
    const count = await source.read(into)
    if (count === 0) break
    text += Buffer.from(into.subarray(0, count)).toString()
  }
  const { value } = JSON.parse(text) as { value: { lamports: number }[] }
  return new Set(value.map(({ lamports }) => lamports))
}

t.test('what is closed never reads the reply of a later task', async t => {
  const { reads } = open(t)
  const first = await toSource(reads.accounts(manyOf(1), 'base64', undefined))
  first.close()
  first.close()
  const [second, third] = await Promise.all([
    toSource(reads.accounts(manyOf(2), 'base64', undefined)),
    toSource(reads.accounts(manyOf(3), 'base64', undefined)),
  ])
  await t.rejects(async () => first.read(new Uint8Array(10)), {
    message: 'the reply of a task is closed',
  })
  t.strictSame(await lamportsIn(second), new Set([2]))
  second.close()
  first.close()
  t.strictSame(await lamportsIn(third), new Set([3]))
  third.close()
})

t.test('replies of tasks that overlap stay apart', async t => {
  const { reads, reader } = open(t)
  const nths = Array.from({ length: 200 }, (_, at) => (at % ACCOUNTS.length) + 1)
  await Promise.all(
    nths.map(async (nth, at) => {
      const source = await toSource(reads.accounts(manyOf(nth), 'base64', undefined))
      if (at % 3 === 0) return source.close()
      t.strictSame(await lamportsIn(source), new Set([nth]))
      source.close()
    }),
  )
  t.equal(reader.poolStats().replyBytesInFlight, 0)
})

t.test('a turn of the event loop settles some of many tasks', async t => {
  const { reader } = open(t)
  const WORK_MS = 2
  const COUNT = 40
  const turns = countTurns(t)
  const busy = (ms: number): void => {
    const endMs = performance.now() + ms
    while (performance.now() < endMs);
  }
  const settledIn: number[] = []
  const tasks = Array.from({ length: COUNT }, async () => {
    await reader.outcomes([], 5_000)
    settledIn.push(turns())
    busy(WORK_MS)
  })
  // All are done before the first one can be settled.
  busy(300)
  await Promise.all(tasks)
  const perTurn = new Map<number, number>()
  for (const turn of settledIn) perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1)
  t.ok(perTurn.size >= COUNT / 8, `${COUNT} tasks in ${perTurn.size} turns`)
})
