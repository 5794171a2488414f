import { randomBytes } from 'node:crypto'
import bs58 from 'bs58'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { IndexOutcome, IndexOutcomes } from '../../../src/native/reader.js'
import type { Tip } from '../../../src/native/store.js'
import { LandingTracker } from '../../../src/submission/landing/landing-tracker.js'
import { formatCursor, START } from '../../../src/submission/store/event-log.js'
import { createIds, formatId } from '../../../src/submission/store/submission-id.js'
import {
  openSubmissionStore,
  walBytes,
  type PendingRecord,
  type SubmissionStore,
} from '../../../src/submission/store/submission-store.js'
import { senderPath, StoreReader } from '../../../src/submission/store/store-reader.js'
import { defaults, type Options } from '../../../src/submission/store/options.js'
import { isSoak } from '../../fixtures/soak.js'
import { createPerformanceCount } from '../../../src/sender/performance.js'
import { createLog } from '../../../src/shared/log.js'
import type {
  LaneReport,
  LaneReports,
  SubmissionRoute,
} from '../../../src/submission/store/submission.js'
import { LANE_FIGURE_NAMES } from '../../../src/usage/schema.js'
import { openUsageReader } from '../../../src/usage/store.js'
import { ACCEPTED, ENDING, PENDING } from '../../fixtures/submission/submission.js'

/** Blocks for which the blockhashes of the test are valid. */
const VALID = 6

/** One transaction, the only one of its submission. */
type Sent = {
  readonly id: Uint8Array
  readonly bytes: string
  readonly signature: string
  readonly lane: string
  readonly lastValid: number
  record: PendingRecord | undefined
  isAnswered: boolean
  /** Of a race: what its second lane has come to; undefined before that. */
  readonly isRaced: boolean
  second: LaneReport['outcome'] | undefined
}
type Block = { readonly slot: number; readonly found: ReadonlyMap<Sent, string | null> }

/** A chain whose newest blocks may be replaced, as two banks of a slot and forks do. */
class Chain {
  blocks: Block[] = [{ slot: 10, found: new Map() }]
  finalCount = 1
  private readonly hashes = new Map<Block, number>()

  add(found: ReadonlyMap<Sent, string | null>, skipped: number): void {
    this.blocks.push({ slot: (this.blocks.at(-1)?.slot ?? 0) + 1 + skipped, found })
  }

  view(): Omit<IndexOutcomes, 'transactions'> {
    const final = this.blocks[this.finalCount - 1]
    return {
      slot: this.blocks.at(-1)?.slot ?? 0,
      blockHeight: this.blocks.length,
      finalized: { slot: final?.slot ?? 0, blockHeight: this.finalCount },
      knownAfter: 0,
    }
  }

  /** Of the newest block. A slot becomes final in a block that says so. */
  tip(): Tip {
    const { slot, blockHeight } = this.view()
    const newest = this.blocks.at(-1)
    const at = newest === undefined ? 0 : (this.hashes.get(newest) ?? this.hashes.size)
    if (newest !== undefined) this.hashes.set(newest, at)
    return { slot, blockHeight, parentSlot: 0, blockhash: `${at} ${this.finalCount}` }
  }

  blockOf(sent: Sent): Block | undefined {
    return this.blocks.find(({ found }) => found.has(sent))
  }
}

/** Of a race that one lane has accepted. */
const LANES = (second: LaneReport['outcome']): LaneReports => {
  const times = { writtenAfterMs: 0, answeredAfterMs: 1 }
  const outcomes = { first: 'accepted', second, third: 'left-out' } as const
  return Object.entries(outcomes).map(([lane, outcome]) => ({ lane, outcome, ...times }))
}

/** What was counted, by lane and end, as often as it was. */
const countsIn = async (dir: string): Promise<readonly string[]> => {
  const ask = openUsageReader(dir)
  const of = [ACCEPTED.accessId, ACCEPTED.network, '', 0, 1e6, 0]
  const [own, all] = await Promise.all([ask('lanes', of), ask('lanes', ['', ...of.slice(1)])])
  t.strictSame(all, own, 'it is the only access')
  return own
    .flatMap(({ lane, ...row }) =>
      LANE_FIGURE_NAMES.flatMap(figure => Array(row[figure]).fill(`${lane} ${figure}`) as string[]),
    )
    .toSorted()
}

/** What must have been told of a transaction in the end. */
const expected = (chain: Chain, sent: Sent): string => {
  const block = chain.blockOf(sent)
  if (!sent.isAnswered) return 'written'
  if (block === undefined) return chain.finalCount > sent.lastValid ? 'expired' : 'accepted'
  if (chain.blocks.indexOf(block) >= chain.finalCount) return 'in-block'
  return block.found.get(sent) === null ? 'final' : 'failed'
}

const ENDS = ['final', 'failed', 'expired']

/** What is counted of it: its lane and its end. A lane of a killed sender may have had it. */
const counted = (chain: Chain, sent: Sent): readonly string[] => {
  const end = expected(chain, sent)
  if (!ENDS.includes(end) || (sent.isRaced && sent.second === undefined)) return []
  const lane = sent.isRaced ? (sent.second === 'unreachable' ? 'first' : '') : sent.lane
  return [`${lane} ${end === 'final' ? 'landed' : end}`]
}

/** States that may follow each other. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  received: ['written'],
  written: ['accepted', 'unknown'],
  accepted: ['in-block', 'expired'],
  unknown: ['in-block', 'expired'],
  'in-block': ['final', 'failed', 'withdrawn'],
  withdrawn: ['in-block', 'expired'],
}

const step = fc.oneof(
  fc.record({
    do: fc.constant('submit' as const),
    route: fc.constantFrom('/relay-bundle' as const, '/lander' as const, '/race' as const),
  }),
  fc.record({
    do: fc.constant('lane' as const),
    which: fc.nat(9),
    outcome: fc.constantFrom('unreachable' as const, 'written' as const, 'full' as const),
  }),
  fc.record({ do: fc.constant('count' as const), isCut: fc.boolean() }),
  fc.record({ do: fc.constant('answer' as const), which: fc.nat(9) }),
  fc.record({
    do: fc.constant('block' as const),
    of: fc.array(fc.tuple(fc.nat(9), fc.boolean()), { maxLength: 3 }),
    skipped: fc.nat(2),
  }),
  fc.record({ do: fc.constant('final' as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constant('fork' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('look' as const) }),
  fc.record({ do: fc.constant('restart' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** The sender of a machine: its store, and what follows its submissions. */
const openSender = async (
  parts: { dir: string; wal: Uint8Array; options: Options; clock: { ms: number } },
  chain: Chain,
  sents: readonly Sent[],
  faults: unknown[],
) => {
  const { clock, dir, options, wal } = parts
  const onFault = (fault: unknown): void => void faults.push(fault)
  const tracker: LandingTracker = new LandingTracker({
    options,
    indexOf: () => ({
      tip: () => chain.tip(),
      outcomes: async awaited => ({
        ...chain.view(),
        transactions: awaited.flatMap(({ signature }, index): readonly IndexOutcome[] => {
          const sent = sents.find(({ bytes }) => bytes === signature)
          const block = sent && chain.blockOf(sent)
          if (sent === undefined) return []
          if (block === undefined)
            return [{ index, blockhashSlot: 1, lastValidBlockHeight: sent.lastValid }]
          return [{ index, slot: block.slot, position: 0, error: block.found.get(sent) ?? null }]
        }),
      }),
    }),
    write: (id, landing) => store.amend(id, { landing }),
    now: () => clock.ms,
    unixMs: () => clock.ms,
    onFault,
  })
  const modules = { wal, now: () => clock.ms, onFault, onSent: tracker.watch.bind(tracker) }
  const store: SubmissionStore = await openSubmissionStore(senderPath(dir), modules, options)
  await store.resume()
  // A process that is killed in between has counted them, and has not removed them.
  const cut = { isCut: false }
  const ends: SubmissionStore['ends'] = {
    waitingEnds: () => store.ends?.waitingEnds(2) ?? { ids: [], ends: [] },
    removeEnds: async ids => {
      if (cut.isCut) throw new Error('killed')
      await store.ends?.removeEnds(ids)
    },
  }
  const performance = createPerformanceCount({
    config: { dataDir: dir, networks: [] },
    store: { ends },
    log: createLog('test', () => {}),
    now: () => clock.ms,
  })
  return { store, tracker, performance, cut }
}

const play = async (t: Test, steps: readonly Step[], dir: string): Promise<void> => {
  const options = { ...defaults, gatherMs: 0, landedGatherMs: 0, pendingMs: 1, mapBytes: 2 ** 26 }
  const clock = { ms: 1_900_000_000_000 }
  const parts = { dir, wal: new Uint8Array(walBytes(options)), options, clock }
  const newId = createIds(() => clock.ms)
  const chain = new Chain()
  const sents: Sent[] = []
  const faults: unknown[] = []
  let sender = await openSender(parts, chain, sents, faults)
  const start = (route: SubmissionRoute): void => {
    const isLander = route !== '/relay-bundle'
    const raw = randomBytes(64)
    const signature = bs58.encode(raw)
    const submission = { ...PENDING, signatures: [signature], blockhashes: [''] }
    const sent: Sent = {
      id: newId(),
      bytes: raw.toString('latin1'),
      signature,
      lastValid: chain.blocks.length + VALID,
      record: undefined,
      isAnswered: isLander,
      lane: isLander ? 'lander' : 'relayBundle',
      isRaced: route === '/race',
      second: undefined,
    }
    const lanes = sent.isRaced ? { lanes: LANES('pending') } : {}
    if (isLander) {
      sender.store.record(sent.id, { ...submission, ...ENDING, ...lanes, route })
    } else sent.record = sender.store.begin(sent.id, submission)
    sents.push(sent)
  }
  const run = async (one: Step): Promise<void> => {
    clock.ms += 10
    switch (one.do) {
      case 'submit':
        return start(one.route)
      case 'answer': {
        const sent = sents[one.which]
        if (sent?.record === undefined || sent.isAnswered) return
        sent.isAnswered = true
        return void sent.record.end(ENDING)
      }
      case 'block': {
        const found = one.of.flatMap(([which, fails]) => {
          const sent = sents[which]
          const canLand =
            sent !== undefined &&
            chain.blockOf(sent) === undefined &&
            chain.blocks.length < sent.lastValid
          return canLand ? [[sent, fails ? 'AccountInUse' : null] as const] : []
        })
        return chain.add(new Map(found), one.skipped)
      }
      case 'final':
        chain.finalCount = Math.min(chain.finalCount + one.count, chain.blocks.length)
        return
      case 'fork': {
        const kept = Math.max(chain.finalCount, chain.blocks.length - one.count)
        const lost = chain.blocks.splice(kept)
        // As high as before, so that the index does not go back.
        for (const { slot } of lost) chain.blocks.push({ slot, found: new Map() })
        return
      }
      case 'lane': {
        const sent = sents[one.which]
        if (sent?.isRaced !== true || sent.second !== undefined) return
        sent.second = one.outcome
        return sender.store.amend(sent.id, { lanes: LANES(one.outcome) })
      }
      case 'count':
        sender.cut.isCut = one.isCut
        return sender.performance.count()
      case 'look':
        return sender.tracker.look()
      case 'restart': {
        await sender.store.close()
        for (const sent of sents) {
          sent.isAnswered = true
          sent.second ??= 'unknown'
        }
        sender = await openSender(parts, chain, sents, faults)
        return
      }
    }
  }
  for (const one of steps) await run(one)
  await sender.tracker.look()
  // What was to be written is written, and what is known of lanes is known.
  await run({ do: 'restart' })
  await sender.tracker.look()
  await run({ do: 'restart' })
  for (const isCut of [true, false]) await run({ do: 'count', isCut })
  await sender.store.close()
  t.strictSame(faults, [])
  t.strictSame(
    await countsIn(dir),
    sents.flatMap(sent => counted(chain, sent)).toSorted(),
    'each is counted once',
  )
  const reader = new StoreReader(dir, options)
  const told = new Map<string, string[]>()
  let from = START
  for (;;) {
    const page = reader.changes(ACCEPTED.accessId, from, 3)
    if (page === undefined || page.changes.length === 0) break
    if (page.isGap) throw new Error('a gap')
    for (const { event, change, position } of page.changes) {
      const id = formatId(event.id)
      if (from !== START && formatCursor(position) === formatCursor(from)) throw new Error('twice')
      told.set(id, [...(told.get(id) ?? []), change.state])
      from = position
    }
  }
  for (const sent of sents) {
    const states = told.get(formatId(sent.id)) ?? []
    for (const [at, state] of states.entries())
      if (at > 0 && NEXT[states[at - 1] ?? '']?.includes(state) !== true)
        throw new Error(`not in order: ${states.join(' ')}`)
    const last = states.at(-1)
    const wanted = expected(chain, sent)
    const isSame =
      last === wanted ||
      (last === 'unknown' && wanted === 'accepted') ||
      (last === 'withdrawn' && wanted === 'accepted')
    // It may have ended before its record was due.
    const isEarly = !sent.isAnswered && last === undefined
    if (!isSame && !isEarly) throw new Error(`${wanted}, told: ${states.join(' ')}`)
  }
  await reader.close()
}

t.test('what is told is what the chain has, in any order of feed and answers', async t => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async steps =>
      play(t, steps, `${t.testdir()}/${count++}`),
    ),
    { numRuns: isSoak ? 500 : 15 },
  )
})
