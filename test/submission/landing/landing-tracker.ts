import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { AwaitedTransaction, IndexOutcome, IndexOutcomes } from '../../../src/native/reader.js'
import {
  LandingTracker,
  type OutcomeIndex,
} from '../../../src/submission/landing/landing-tracker.js'
import type { Landing, Submission } from '../../../src/submission/store/submission.js'
import { countTurns } from '../../fixtures/count-turns.js'
import { until } from '../../fixtures/until.js'
import { ACCEPTED } from '../../fixtures/submission/submission.js'

const BLOCKHASH = '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM'
const OPTIONS = { landingPollMs: 1_000_000, awaitedMax: 2, awaitedMs: 600_000 }
const [FIRST = '', SECOND = ''] = ACCEPTED.signatures

type Tip = Omit<IndexOutcomes, 'transactions'>
/** What the index knows of one of those that are asked for; of `{}`, nothing. */
type Outcome = Omit<IndexOutcome, 'index'>

const answerOf = (
  awaited: readonly AwaitedTransaction[],
  outcomeOf: (at: number) => Outcome,
): readonly IndexOutcome[] =>
  awaited
    .map((_, index) => ({ index, ...outcomeOf(index) }))
    .filter(outcome => Object.keys(outcome).length > 1)

/** An index that a test advances, and a tracker over it. */
const open = (
  options = OPTIONS,
  index?: OutcomeIndex,
  { writeMs = 0, onWrite = (): void => {} } = {},
) => {
  const chain: { tip: Tip; outcomes: readonly Outcome[] } = {
    tip: { slot: 1_000, blockHeight: 900, knownAfter: 600 },
    outcomes: [],
  }
  const asked: (readonly AwaitedTransaction[])[] = []
  const written: [id: string, landing: Landing][] = []
  const faults: unknown[] = []
  const clock = { ms: 0 }
  const tracker = new LandingTracker({
    options,
    indexOf: () =>
      index ?? {
        outcomes: async awaited => {
          // The same objects are asked for again.
          asked.push(awaited.map(transaction => ({ ...transaction })))
          const transactions = answerOf(awaited, at => chain.outcomes[at] ?? {})
          return { ...chain.tip, transactions }
        },
      },
    write: async (id, landing) => {
      clock.ms += writeMs
      written.push([String(id[0]), landing])
      onWrite()
    },
    now: () => clock.ms,
    onFault: fault => faults.push(fault),
  })
  const watch = (id: number, change: Partial<Submission> = {}, isRecovered = false): boolean => {
    const blockhashes = ACCEPTED.signatures.map(() => BLOCKHASH)
    const submission = { ...ACCEPTED, blockhashes, ...change }
    return tracker.watch({ id: Uint8Array.of(id), submission, isRecovered })
  }
  const look = async (
    tip: Partial<Tip>,
    ...outcomes: readonly Outcome[]
  ): Promise<[string, Landing][]> => {
    Object.assign(chain.tip, tip)
    chain.outcomes = outcomes
    written.length = 0
    await tracker.look()
    return [...written]
  }
  return { asked, clock, faults, look, tracker, watch, written }
}

const YOUNG = { blockhashSlot: 990, lastValidBlockHeight: 1_040 }

t.test('a submission lands, one transaction after the other', async t => {
  const { asked, faults, look, tracker, watch } = open()
  watch(1)
  t.equal(tracker.awaitedCount, 1)
  t.strictSame(await look({}, YOUNG, YOUNG), [], 'nothing is written while nothing changes')
  const error = { InstructionError: [0, { Custom: 1 }] }
  t.strictSame(await look({ slot: 1_010 }, { slot: 1_005, error: null }, YOUNG), [
    ['1', { state: 'waiting', transactions: [{ slot: 1_005, error: null }, null] }],
  ])
  t.strictSame(await look({ slot: 1_020 }, { slot: 1_020, error }), [
    [
      '1',
      {
        state: 'settled',
        transactions: [
          { slot: 1_005, error: null },
          { slot: 1_020, error: JSON.stringify(error) },
        ],
      },
    ],
  ])
  t.equal(tracker.awaitedCount, 0)
  t.strictSame(
    asked.map(all => all.map(({ sinceSlot }) => sinceSlot)),
    [[0, 0], [1_000, 1_000], [1_010]],
    'only new blocks are searched, and only for what was not found',
  )
  await look({})
  t.equal(asked.length, 3)
  t.strictSame(faults, [])
})

t.test('what no block has expires with its blockhash, and not before', async t => {
  const { look, tracker, watch } = open()
  watch(1)
  await look({}, YOUNG, YOUNG)
  t.strictSame(await look({ blockHeight: 1_040, slot: 1_140 }, YOUNG, YOUNG), [])
  t.strictSame(await look({ blockHeight: 1_041, slot: 1_141 }, YOUNG, YOUNG), [
    ['1', { state: 'expired', transactions: [null, null] }],
  ])
  t.equal(tracker.awaitedCount, 0)
})

t.test('a blockhash that the index never has is too old after 150 blocks', async t => {
  const { look, watch } = open()
  watch(1)
  await look({})
  t.strictSame(await look({ blockHeight: 1_050, slot: 1_150 }), [])
  t.match(await look({ blockHeight: 1_051, slot: 1_151 }), [['1', { state: 'expired' }]])
})

t.test('one that the index learns later counts from its own block', async t => {
  const { look, watch } = open()
  watch(1)
  await look({})
  const late = { blockhashSlot: 1_010, lastValidBlockHeight: 1_060 }
  t.strictSame(await look({ blockHeight: 1_055, slot: 1_155 }, late, late), [])
  t.match(await look({ blockHeight: 1_061, slot: 1_161 }, late, late), [
    ['1', { state: 'expired' }],
  ])
})

t.test('what has expired is written for a bounded time in a turn', async t => {
  const turns = countTurns(t)
  const writtenIn = new Map<number, number>()
  const onWrite = (): void => void writtenIn.set(turns(), (writtenIn.get(turns()) ?? 0) + 1)
  const options = { ...OPTIONS, awaitedMax: 100 }
  const { look, tracker, watch } = open(options, undefined, { writeMs: 0.25, onWrite })
  for (let id = 0; id < 40; id++) watch(id)
  await look({})
  const written = await look({ blockHeight: 1_051, slot: 1_151 })
  t.equal(written.length, 40)
  // The time of a turn that continues begins after its first one.
  t.strictSame([...writtenIn.values()], [4, 5, 5, 5, 5, 5, 5, 5, 1])
  t.equal(tracker.awaitedCount, 0)
})

t.test('the block of a blockhash is asked for until it is known', async t => {
  const { asked, look, watch } = open()
  watch(1)
  watch(2)
  await look({}, {}, YOUNG, YOUNG, {})
  await look({ slot: 1_001 })
  t.strictSame(
    asked.map(all => all.map(({ blockhash }) => blockhash !== undefined)),
    [
      [true, true, true, true],
      [true, false, false, true],
    ],
  )
  // The second of the first one and the first of the second one are too old, the others are not.
  t.strictSame(await look({ blockHeight: 1_041, slot: 1_141 }), [])
  t.equal(asked.length, 3)
  await look({ slot: 1_142 })
  t.equal(asked.at(-1)?.length, 2)
  t.match(await look({ blockHeight: 1_051, slot: 1_151 }), [
    ['1', { state: 'expired' }],
    ['2', { state: 'expired' }],
  ])
})

t.test('what the index cannot know is not called expired', async t => {
  const cases: [
    name: string,
    change: Partial<Submission>,
    isRecovered: boolean,
    ...Parameters<ReturnType<typeof open>['look']>[],
  ][] = [
    [
      'blocks were missed',
      {},
      false,
      [{}, YOUNG, YOUNG],
      [{ slot: 1_300, blockHeight: 1_200, knownAfter: 1_100 }, YOUNG, YOUNG],
    ],
    [
      'the store begins after the blockhash',
      {},
      false,
      [{ knownAfter: 995 }, YOUNG, YOUNG],
      [{ slot: 1_141, blockHeight: 1_041 }, YOUNG, YOUNG],
    ],
    [
      'of an earlier process, whose blockhash is not known any more',
      {},
      true,
      [{}],
      [{ slot: 1_151, blockHeight: 1_051 }],
    ],
  ]
  for (const [name, change, isRecovered, ...looks] of cases) {
    const { look, watch } = open()
    watch(1, change, isRecovered)
    let last: [string, Landing][] = []
    for (const one of looks) last = await look(...one)
    t.strictSame(last, [['1', { state: 'unseen', transactions: [null, null] }]], name)
  }
})

t.test('of an earlier process, with a blockhash that the index has, it expires', async t => {
  const { look, watch } = open()
  watch(1, {}, true)
  await look({}, YOUNG, YOUNG)
  t.match(await look({ slot: 1_141, blockHeight: 1_041 }, YOUNG, YOUNG), [
    ['1', { state: 'expired' }],
  ])
})

t.test('a durable nonce does not expire; the search for it ends', async t => {
  const { asked, clock, look, watch } = open()
  watch(1, { blockhashes: [null, BLOCKHASH] })
  t.strictSame(await look({ blockHeight: 2_000, slot: 2_000, knownAfter: 0 }, {}, YOUNG), [])
  t.strictSame(
    asked[0]?.map(({ blockhash }) => blockhash === undefined),
    [true, false],
  )
  clock.ms = OPTIONS.awaitedMs
  t.match(await look({ blockHeight: 3_000, slot: 3_000 }), [['1', { state: 'unseen' }]])
})

t.test('without outcomes in the index, or above the bound, it is said at once', t => {
  t.notOk(open(OPTIONS, 'no-outcomes').watch(1))
  const full = open()
  t.strictSame(
    [1, 2, 3].map(id => full.watch(id)),
    [true, true, false],
  )
  t.equal(full.tracker.awaitedCount, 2)
  t.end()
})

t.test('a look-up that fails is reported, and tried again', async t => {
  let isBroken = true
  const { clock, faults, look, tracker, watch } = open(OPTIONS, {
    outcomes: async awaited => {
      if (isBroken) throw new Error('busy')
      return {
        slot: 9,
        blockHeight: 9,
        knownAfter: 1,
        transactions: answerOf(awaited, () => ({ slot: 9, error: null })),
      }
    },
  })
  watch(1)
  watch(2, { signatures: ['not base58 0OIl'] })
  t.equal(tracker.awaitedCount, 1, 'a signature that is none is not looked for')
  t.strictSame(await look({}), [])
  t.equal(faults.length, 2)
  isBroken = false
  clock.ms = 1
  t.match(await look({}), [['1', { state: 'settled' }]])
})

t.test('many are looked up in parts, in the order in which they came', async t => {
  const { asked, look, watch } = open({ ...OPTIONS, awaitedMax: 1_000 })
  for (let id = 0; id < 200; id++) watch(id)
  await look({}, { slot: 5, error: null })
  t.strictSame(
    asked.map(all => all.length),
    [256, 144],
  )
  t.not(FIRST, SECOND)
})

t.test('followed submissions keep no memory outside of the heap', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const bytes = (): number => {
    collectGarbage()
    return process.memoryUsage().arrayBuffers
  }
  const count = 2_000
  const { tracker, watch } = open({ ...OPTIONS, awaitedMax: count })
  const before = bytes()
  for (let id = 0; id < count; id++) watch(id)
  t.equal(tracker.awaitedCount, count)
  // As arrays, an id and two transactions are 208 bytes. Threads of V8 free what was short-lived.
  await until('no memory is left', () => bytes() - before < count * 10, 2_000)
})
