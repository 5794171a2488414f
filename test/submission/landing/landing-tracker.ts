import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Landing, Submission } from '../../../src/submission/store/submission.js'
import { countTurns } from '../../fixtures/count-turns.js'
import { until } from '../../fixtures/until.js'
import {
  answerOf,
  BLOCKHASH,
  openTracker as open,
  OPTIONS,
  UNIX_MS,
} from '../../fixtures/submission/landing-tracker.js'
import { ACCEPTED } from '../../fixtures/submission/submission.js'

const [FIRST = '', SECOND = ''] = ACCEPTED.signatures
const EXPIRED = { end: 'expired', seenAtMs: UNIX_MS } as const
const UNSEEN = { end: 'unseen', seenAtMs: UNIX_MS } as const
const YOUNG = { blockhashSlot: 990, lastValidBlockHeight: 1_040 }

t.test('a submission lands, one transaction after the other', async t => {
  const { asked, faults, look, tracker, watch } = open()
  watch(1)
  t.equal(tracker.awaitedCount, 1)
  t.strictSame(await look({}, YOUNG, YOUNG), [], 'nothing is written while nothing changes')
  const error = { InstructionError: [0, { Custom: 1 }] }
  const first = { slot: 1_005, index: 3, error: null, isFinal: true, seenAtMs: UNIX_MS }
  t.strictSame(await look({ slot: 1_010 }, { slot: 1_005, position: 3, error: null }, YOUNG), [
    ['1', { transactions: [first, null] }],
  ])
  const second = { slot: 1_020, index: null, error: JSON.stringify(error), isFinal: true }
  t.strictSame(await look({ slot: 1_020 }, { slot: 1_020, error }), [
    ['1', { transactions: [first, { ...second, seenAtMs: UNIX_MS }] }],
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
    ['1', { transactions: [EXPIRED, EXPIRED] }],
  ])
  t.equal(tracker.awaitedCount, 0)
})

t.test('a blockhash that the index never has is too old after 150 blocks', async t => {
  const { look, watch } = open()
  watch(1)
  await look({})
  t.strictSame(await look({ blockHeight: 1_050, slot: 1_150 }), [])
  t.match(await look({ blockHeight: 1_051, slot: 1_151 }), [
    ['1', { transactions: [EXPIRED, EXPIRED] }],
  ])
})

t.test('one that the index learns later counts from its own block', async t => {
  const { look, watch } = open()
  watch(1)
  await look({})
  const late = { blockhashSlot: 1_010, lastValidBlockHeight: 1_060 }
  t.strictSame(await look({ blockHeight: 1_055, slot: 1_155 }, late, late), [])
  t.match(await look({ blockHeight: 1_061, slot: 1_161 }, late, late), [
    ['1', { transactions: [EXPIRED, EXPIRED] }],
  ])
})

t.test('without a new block only those are looked for that came since', async t => {
  const { asked, clock, look, lookAgain, tracker, watch } = open({ ...OPTIONS, awaitedMax: 10 })
  for (const id of [1, 2, 3]) watch(id, { signatures: [FIRST] })
  await look({})
  await lookAgain()
  watch(4, { signatures: [SECOND] })
  await lookAgain()
  await lookAgain()
  t.strictSame(
    asked.map(all => all.length),
    [3, 1],
  )
  t.strictSame(await look({ slot: 1_001 }), [])
  t.equal(asked.at(-1)?.length, 4)
  clock.ms = OPTIONS.awaitedMs
  await lookAgain()
  t.equal(tracker.awaitedCount, 0, 'they end without a block too')
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

t.test('10,000 of one height are looked up once each, and end over many turns', async t => {
  const count = 10_000
  const turns = countTurns(t)
  const writtenIn = new Map<number, number>()
  const onWrite = (): void => void writtenIn.set(turns(), (writtenIn.get(turns()) ?? 0) + 1)
  const options = { ...OPTIONS, awaitedMax: count }
  const { asked, faults, look, tracker, watch } = open(options, undefined, {
    writeMs: 0.01,
    onWrite,
  })
  for (let id = 0; id < count; id++) watch(id, { signatures: [FIRST] })
  await look({})
  const before = asked.length
  const written = await look({ blockHeight: 1_051, slot: 1_151 })
  t.equal(asked.slice(before).flat().length, count)
  t.equal(asked.length - before, Math.ceil(count / 256))
  t.equal(new Set(written.map(([id]) => id)).size, count)
  t.ok(Math.max(...writtenIn.values()) <= 102, 'a turn writes for a millisecond')
  t.equal(tracker.awaitedCount, 0)
  t.strictSame(faults, [])
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
  t.strictSame(await look({ blockHeight: 1_041, slot: 1_141 }), [
    ['1', { transactions: [null, EXPIRED] }],
    ['2', { transactions: [EXPIRED, null] }],
  ])
  t.equal(asked.length, 3)
  await look({ slot: 1_142 })
  t.equal(asked.at(-1)?.length, 2)
  t.match(await look({ blockHeight: 1_051, slot: 1_151 }), [
    ['1', { transactions: [EXPIRED, EXPIRED] }],
    ['2', { transactions: [EXPIRED, EXPIRED] }],
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
    t.strictSame(last, [['1', { transactions: [UNSEEN, UNSEEN] }]], name)
  }
})

t.test('of an earlier process, with a blockhash that the index has, it expires', async t => {
  const { look, watch } = open()
  watch(1, {}, true)
  await look({}, YOUNG, YOUNG)
  t.match(await look({ slot: 1_141, blockHeight: 1_041 }, YOUNG, YOUNG), [
    ['1', { transactions: [EXPIRED, EXPIRED] }],
  ])
})

t.test('a durable nonce does not expire; the search for it ends', async t => {
  const { asked, clock, look, watch } = open()
  watch(1, { blockhashes: [null, BLOCKHASH] })
  t.strictSame(
    await look({ blockHeight: 2_000, slot: 2_000, knownAfter: 0 }, {}, YOUNG).then(all =>
      all.map(([, { transactions }]) => transactions[0]),
    ),
    [null],
  )
  t.strictSame(
    asked[0]?.map(({ blockhash }) => blockhash === undefined),
    [true, false],
  )
  clock.ms = OPTIONS.awaitedMs
  t.match(await look({ blockHeight: 3_000, slot: 3_000 }), [
    ['1', { transactions: [{ end: 'unseen' }, { end: 'expired' }] }],
  ])
})

t.test('a transaction is replaced when its nonce was advanced in a final block', async t => {
  const nonce = { account: BLOCKHASH, value: BLOCKHASH }
  const change = { signatures: [FIRST], blockhashes: [null], nonces: [nonce], receivedSlot: 990 }
  const { asked, look, watch } = open()
  watch(1, change)
  t.strictSame(await look({}, { nonceSlot: 800, hasNonce: true }), [])
  t.equal(asked[0]?.[0]?.nonce?.length, 32)
  t.equal(asked[0]?.[0]?.blockhash?.length, 32)
  const advanced = { nonceSlot: 1_005, hasNonce: false }
  const finalized = { slot: 1_004, blockHeight: 904 }
  t.strictSame(await look({ slot: 1_006, finalized }, advanced), [], 'that block is not final')
  const replaced = { end: 'replaced', seenAtMs: UNIX_MS }
  t.strictSame(await look({ slot: 1_007 }, advanced), [['1', { transactions: [replaced] }]])

  const early = open()
  early.watch(1, change)
  t.strictSame(await early.look({}, { nonceSlot: 800, hasNonce: false }), [], 'it may be newer')
  const late = { slot: 1_200, blockHeight: 1_051 }
  const never = { nonceSlot: 800, hasNonce: false }
  t.strictSame(await early.look(late, never), [['1', { transactions: [replaced] }]])

  const restarted = open()
  restarted.watch(1, { ...change, receivedSlot: 500 }, true)
  t.strictSame(await restarted.look({}, { nonceSlot: 800, hasNonce: true }), [])
  t.strictSame(await restarted.look({ slot: 1_007 }, advanced), [['1', { transactions: [UNSEEN] }]])
})

t.test('a block that is not final may be withdrawn', async t => {
  const { asked, look, tracker, watch } = open()
  watch(1, { signatures: [FIRST] })
  const finalized = { slot: 1_000, blockHeight: 900 }
  const inBlock = { slot: 1_005, index: 1, error: null, isFinal: false, seenAtMs: UNIX_MS }
  const found = { slot: 1_005, position: 1, error: null }
  t.strictSame(await look({ slot: 1_006, finalized }, found), [['1', { transactions: [inBlock] }]])
  t.strictSame(await look({ slot: 1_007, finalized }, found), [], 'it is told once')
  t.strictSame(await look({ slot: 1_008, knownAfter: 1_005, finalized }, {}), [], 'not known')
  t.strictSame(await look({ slot: 1_009, knownAfter: 600, finalized }, {}), [
    ['1', { transactions: [null] }],
  ])
  const other = { slot: 1_004, position: 2, error: null }
  const again = { ...inBlock, slot: 1_004, index: 2 }
  t.strictSame(await look({ slot: 1_010, finalized }, other), [['1', { transactions: [again] }]])
  t.equal(asked.at(-1)?.[0]?.sinceSlot, 0, 'it may be in an earlier block')
  t.strictSame(await look({ slot: 1_011 }, other), [
    ['1', { transactions: [{ ...again, isFinal: true }] }],
  ])
  t.equal(tracker.awaitedCount, 0)
})

t.test('nothing expires before a final block is beyond its last valid height', async t => {
  const { look, watch } = open()
  watch(1)
  const finalized = { slot: 1_139, blockHeight: 1_040 }
  t.strictSame(await look({ slot: 1_200, blockHeight: 1_100, finalized }, YOUNG, YOUNG), [])
  t.strictSame(await look({ slot: 1_201, finalized: undefined }, YOUNG, YOUNG), [], 'none is known')
  const beyond = { slot: 1_141, blockHeight: 1_041 }
  t.match(await look({ slot: 1_202, finalized: beyond }, YOUNG, YOUNG), [
    ['1', { transactions: [EXPIRED, EXPIRED] }],
  ])
})

t.test('a flood of one access takes no place of others', async t => {
  const { look, tracker, watch, written } = open({ ...OPTIONS, awaitedMax: 10 })
  const others = ['acc_b', 'acc_c'].map((accessId, id) => watch(200 + id, { accessId }))
  for (let id = 0; id < 100; id++) watch(id, { accessId: 'acc_a' })
  watch(210, { accessId: 'acc_b' })
  t.strictSame(others, [true, true])
  t.equal(tracker.awaitedCount, 10)
  t.strictSame(
    written.map(([id]) => id),
    Array.from({ length: 93 }, (_, id) => String(id)),
    'the oldest ones of the flood are given up',
  )
  t.match(written[0], ['0', { transactions: [UNSEEN, UNSEEN] }])
  await look({})
  const left = await look({ slot: 1_151, blockHeight: 1_051 })
  t.strictSame(new Set(left.map(([id]) => Number(id) >= 200)).size, 2)
})

t.test('without outcomes in the index, or above the bound, it is said at once', t => {
  t.notOk(open(OPTIONS, 'no-outcomes').watch(1))
  const full = open()
  t.strictSame(
    [1, 2, 3].map(id => full.watch(id)),
    [true, true, true],
  )
  t.match(full.written, [['1', { transactions: [UNSEEN, UNSEEN] }]], 'the oldest one is given up')
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
        finalized: { slot: 9, blockHeight: 9 },
        knownAfter: 1,
        transactions: answerOf(awaited, () => ({ slot: 9, error: null })),
      }
    },
    tip: () => ({ slot: 9, parentSlot: 8, blockHeight: 9, blockhash: BLOCKHASH }),
  })
  watch(1)
  watch(2, { signatures: ['not base58 0OIl'] })
  t.equal(tracker.awaitedCount, 1, 'a signature that is none is not looked for')
  t.strictSame(await look({}), [])
  t.equal(faults.length, 2)
  isBroken = false
  clock.ms = 1
  t.match(await look({}), [['1', { transactions: [{ slot: 9 }, { slot: 9 }] }]])
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
