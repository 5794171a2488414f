import { randomBytes } from 'node:crypto'
import bs58 from 'bs58'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { IndexOutcome, IndexOutcomes } from '../../../src/native/reader.js'
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
import { ACCEPTED, ENDING, PENDING } from '../../fixtures/submission/submission.js'

/** Blocks for which the blockhashes of the test are valid. */
const VALID = 6

/** One transaction, the only one of its submission. */
type Sent = {
  readonly id: Uint8Array
  readonly bytes: string
  readonly signature: string
  readonly lastValid: number
  record: PendingRecord | undefined
  isAnswered: boolean
}
type Block = { readonly slot: number; readonly found: ReadonlyMap<Sent, string | null> }

/** A chain whose newest blocks may be replaced, as two banks of a slot and forks do. */
class Chain {
  blocks: Block[] = [{ slot: 10, found: new Map() }]
  finalCount = 1

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

  blockOf(sent: Sent): Block | undefined {
    return this.blocks.find(({ found }) => found.has(sent))
  }
}

/** What must have been told of a transaction in the end. */
const expected = (chain: Chain, sent: Sent): string => {
  const block = chain.blockOf(sent)
  if (!sent.isAnswered) return 'written'
  if (block === undefined) return chain.finalCount > sent.lastValid ? 'expired' : 'accepted'
  if (chain.blocks.indexOf(block) >= chain.finalCount) return 'in-block'
  return block.found.get(sent) === null ? 'final' : 'failed'
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
  fc.record({ do: fc.constant('submit' as const), isLander: fc.boolean() }),
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
  return { store, tracker }
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
  const start = (isLander: boolean): void => {
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
    }
    if (isLander) {
      sender.store.record(sent.id, { ...submission, ...ENDING, route: '/lander' })
    } else sent.record = sender.store.begin(sent.id, submission)
    sents.push(sent)
  }
  const run = async (one: Step): Promise<void> => {
    clock.ms += 10
    switch (one.do) {
      case 'submit':
        return start(one.isLander)
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
      case 'look':
        return sender.tracker.look()
      case 'restart': {
        await sender.store.close()
        for (const sent of sents) sent.isAnswered = true
        sender = await openSender(parts, chain, sents, faults)
        return
      }
    }
  }
  for (const one of steps) await run(one)
  await sender.tracker.look()
  await sender.store.close()
  t.strictSame(faults, [])
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
