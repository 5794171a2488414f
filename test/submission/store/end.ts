import t from 'tap'
import { endOf, endSince } from '../../../src/submission/store/end.js'
import type { Fate, LaneReport, Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED } from '../../fixtures/submission/submission.js'

const ONE: Submission = { ...ACCEPTED, signatures: ['a'], receivedSlot: 7 }
const inBlock = (more: object = {}): Fate => ({
  ...{ slot: 9, index: 0, error: null, isFinal: true, seenAtMs: ONE.receivedAtMs + 800 },
  ...more,
})
const gone = (end: 'expired' | 'replaced' | 'unseen'): Fate => ({ end, seenAtMs: 1 })
const landing = (...transactions: readonly Fate[]) => ({ landing: { transactions } })
const lane = (name: string, outcome: LaneReport['outcome']): LaneReport => ({
  ...{ lane: name, outcome, writtenAfterMs: null, answeredAfterMs: null },
})

const wordOf = (more: Partial<Submission>, isOver = false): string | undefined =>
  endOf({ ...ONE, ...more }, isOver)?.end

t.test('the end of a submission, once nothing more is expected', t => {
  const two = { signatures: ['a', 'b'] }
  const cases: readonly (readonly [string | undefined, Partial<Submission>])[] = [
    ['landed', landing(inBlock())],
    ['landed', { outcome: 'unknown', ...landing(inBlock()) }],
    ['landed', { outcome: 'refused', ...landing(inBlock()) }],
    ['failed', landing(inBlock({ error: '"AccountInUse"' }))],
    ['partlyLanded', { ...two, ...landing(inBlock(), gone('expired')) }],
    ['expired', landing(gone('expired'))],
    ['replaced', landing(gone('replaced'))],
    ['unseen', landing(gone('unseen'))],
    ['refused', { outcome: 'refused', ...landing(gone('expired')) }],
    ['refused', { outcome: 'full' }],
    [undefined, {}],
    [undefined, landing(null)],
    [undefined, landing(inBlock({ isFinal: false }))],
    [undefined, { ...two, ...landing(inBlock()) }],
    [undefined, { ...two, ...landing(inBlock(), null) }],
    [undefined, { outcome: 'pending', ...landing(inBlock()) }],
    [undefined, { outcome: 'full', forwardedAtMs: null }],
    [undefined, { outcome: 'invalid' }],
    [undefined, { outcome: 'unreachable' }],
    [undefined, { joined: 'another', ...landing(inBlock()) }],
    [undefined, { signatures: [], ...landing() }],
  ]
  for (const [wanted, more] of cases) t.equal(wordOf(more), wanted, JSON.stringify(more))
  for (const more of [{}, landing(null), { outcome: 'pending' as const }])
    t.equal(wordOf(more, true), 'unseen', 'nobody follows it any more')
  t.equal(wordOf({ outcome: 'unreachable' }, true), undefined)
  t.equal(endSince(undefined, { ...ONE, ...landing(inBlock()) })?.end, 'landed')
  t.equal(endSince(ONE, { ...ONE, ...landing(inBlock()) })?.end, 'landed')
  const ended = { ...ONE, ...landing(gone('expired')) }
  t.equal(endSince(ended, { ...ONE, ...landing(inBlock()) }), undefined, 'once')
  t.end()
})

t.test('delays are those of the last transaction, of what landed whole', t => {
  const delays = (more: Partial<Submission>) => {
    const { delayMs, delaySlots } = endOf({ ...ONE, ...more }) ?? {}
    return [delaySlots, delayMs]
  }
  const late = inBlock({ slot: 11, seenAtMs: ONE.receivedAtMs + 1_600 })
  t.strictSame(delays({ signatures: ['a', 'b'], ...landing(inBlock(), late) }), [4, 1_600])
  t.strictSame(delays({ ...landing(inBlock({ seenAtMs: null })) }), [2, null])
  t.strictSame(delays({ ...landing(inBlock({ error: '{}' })) }), [null, null])
  const { receivedSlot: _slot, ...unknown } = { ...ONE, ...landing(inBlock()) }
  t.equal(endOf(unknown)?.delaySlots, null)
  t.end()
})

t.test('a submission is of the one lane that carried it', t => {
  const of = (lanes: readonly LaneReport[] | undefined, isOver = false) =>
    endOf({ ...ONE, route: '/race', ...(lanes && { lanes }), ...landing(inBlock()) }, isOver)?.lane
  const routes = { '/lander': 'lander', '/send': 'lander', '/relay': 'relay' } as const
  for (const [route, name] of Object.entries(routes))
    t.equal(
      endOf({ ...ONE, route: route as keyof typeof routes, ...landing(inBlock()) })?.lane,
      name,
    )
  t.equal(endOf({ ...ONE, route: '/relay-bundle', ...landing(inBlock()) })?.lane, 'relayBundle')
  const first = lane('first', 'accepted')
  t.equal(of([first, lane('second', 'left-out'), lane('third', 'unreachable')]), 'first')
  for (const outcome of ['accepted', 'written', 'refused', 'full', 'unknown'] as const)
    t.equal(of([first, lane('second', outcome)]), '', `${outcome}: it may be the one`)
  t.equal(of([first, lane('second', 'pending')]), undefined, 'not known yet')
  t.equal(of([first, lane('second', 'pending')], true), '')
  t.equal(of([lane('first', 'unreachable')]), undefined, 'nothing was sent')
  t.equal(of(undefined), '', 'of a sender that was killed')
  t.end()
})
