import t from 'tap'
import { explainChainError, reasonOf } from '../../../src/submission/store/reason.js'
import { isAwaited, lanesOf, stateOf, toAbandoned } from '../../../src/submission/store/state.js'
import type { Fate, Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'

const TIMES = { nowMs: ACCEPTED.receivedAtMs + 1_000, awaitedMs: 600_000 }
const LATER = { ...TIMES, nowMs: ACCEPTED.receivedAtMs + 661_000 }

const FRESH = { slot: 7, index: 0, error: null, isFinal: false, seenAtMs: 1 }
const GOOD = { ...FRESH, isFinal: true }
const BAD = { ...GOOD, slot: 8, error: '"AccountInUse"' }
const EXPIRED = { end: 'expired', seenAtMs: 1 } as const
const REPLACED = { end: 'replaced', seenAtMs: 1 } as const
const UNSEEN = { end: 'unseen', seenAtMs: 1 } as const
const landing = (...transactions: readonly Fate[]) => ({ landing: { transactions } })

t.test('the state of a submission', async t => {
  const cases: [name: string, change: Partial<Submission>, state: string, later?: string][] = [
    ['not sent', { outcome: 'pending', forwardedAtMs: null }, 'received', 'unseen'],
    ['not answered', { outcome: 'pending' }, 'written', 'unseen'],
    ['accepted', {}, 'accepted', 'unseen'],
    ['looked for', landing(null, null), 'accepted', 'unseen'],
    ['without an answer', { outcome: 'unknown' }, 'unknown', 'unseen'],
    ['all landed', landing(GOOD, GOOD), 'final'],
    ['in a block', landing(FRESH, GOOD), 'in-block'],
    ['in a block, with an error', landing({ ...BAD, isFinal: false }), 'failed'],
    ['one landed, the other may', landing(GOOD, null), 'partly-landed'],
    ['one landed, the other cannot', landing(GOOD, EXPIRED), 'partly-landed'],
    ['one landed, one failed', landing(GOOD, BAD), 'partly-landed'],
    ['all failed', landing(BAD, BAD), 'failed'],
    ['one failed, the other cannot land', landing(BAD, EXPIRED), 'failed'],
    ['none landed', landing(EXPIRED, EXPIRED), 'expired'],
    ['one is replaced', landing(EXPIRED, REPLACED), 'replaced'],
    ['one has expired, the other may land', landing(EXPIRED, null), 'accepted', 'unseen'],
    ['without an answer, expired', { outcome: 'unknown', ...landing(EXPIRED) }, 'expired'],
    ['not known', landing(UNSEEN, UNSEEN), 'unseen'],
    ['not known of one', landing(EXPIRED, UNSEEN), 'unseen'],
    ['refused', { outcome: 'refused' }, 'refused'],
    ['refused, and not landed', { outcome: 'refused', ...landing(EXPIRED) }, 'refused'],
    ['refused, and landed', { outcome: 'refused', ...landing(GOOD) }, 'final'],
    ['invalid', { outcome: 'invalid' }, 'invalid'],
    ['full', { outcome: 'full' }, 'full'],
    ['unreachable', { outcome: 'unreachable' }, 'unreachable'],
  ]
  for (const [name, change, state, later = state] of cases) {
    t.equal(stateOf({ ...ACCEPTED, ...change }, TIMES), state, name)
    t.equal(stateOf({ ...ACCEPTED, ...change }, LATER), later, `${name}, much later`)
  }
})

t.test('what a killed sender had in flight is unknown', async t => {
  t.equal(toAbandoned(ACCEPTED), ACCEPTED, 'nothing was')
  t.equal(toAbandoned(PENDING).outcome, 'unknown')
  const times = { writtenAfterMs: null, answeredAfterMs: null }
  const OUTCOMES = ['left-out', 'accepted', 'written', 'refused', 'full', 'unreachable'] as const
  const lanes = [...OUTCOMES, 'pending', 'unknown'].map(outcome => ({
    ...{ lane: outcome, outcome: outcome as 'pending' },
    ...times,
  }))
  const raced: Submission = { ...ACCEPTED, lanes }
  const outcomesOf = ({ lanes: all = [] }: Submission) => all.map(({ outcome }) => outcome)
  t.strictSame(outcomesOf(toAbandoned(raced)), [...OUTCOMES, 'unknown', 'unknown'])
  t.equal(toAbandoned(raced).outcome, 'accepted')
  t.equal(lanesOf(raced, TIMES), lanes, 'they are in flight')
  t.strictSame(lanesOf(raced, LATER), toAbandoned(raced).lanes, 'much later nothing is')
})

t.test('what was sent is looked for until it is known', async t => {
  const cases: [submission: Submission, isAwaited: boolean][] = [
    [ACCEPTED, true],
    [{ ...ACCEPTED, outcome: 'unknown' }, true],
    [{ ...ACCEPTED, outcome: 'refused' }, true],
    [{ ...ACCEPTED, ...landing(GOOD, null) }, true],
    [{ ...ACCEPTED, ...landing(GOOD, GOOD) }, false],
    [{ ...ACCEPTED, ...landing(UNSEEN, UNSEEN) }, false],
    [{ ...ACCEPTED, ...landing(FRESH, GOOD) }, true],
    [{ ...ACCEPTED, signatures: [] }, false],
    [{ ...ACCEPTED, outcome: 'unreachable' }, false],
    [PENDING, false],
  ]
  for (const [submission, expected] of cases) t.equal(isAwaited(submission), expected)
})

t.test('reasons can be read', async t => {
  const engine = { status: 403, words: ' not you ' }
  const message = JSON.stringify({ code: -32602, message: 'bundle contains an expired blockhash' })
  const cases: [change: Partial<Submission>, reason: string | null][] = [
    [{}, null],
    [{ outcome: 'pending' }, null],
    [
      { outcome: 'invalid', checks: 'transaction 0 is malformed: no bytes' },
      'transaction 0 is malformed: no bytes',
    ],
    [{ outcome: 'refused', error: message }, 'bundle contains an expired blockhash'],
    [{ outcome: 'refused', error: 'text' }, 'text'],
    [{ outcome: 'refused', engine }, 'HTTP status 403: not you'],
    [{ outcome: 'refused', engine: { ...engine, words: '' } }, 'HTTP status 403'],
    [{ outcome: 'refused', engine: null }, 'refused'],
    [{ outcome: 'full', engine }, 'no capacity at the upstream: HTTP status 403: not you'],
    [
      { outcome: 'full', engine: null },
      'no turn in time under the rate of the route, or too many in flight',
    ],
    [{ outcome: 'full', checks: 'Too many' }, 'Too many'],
    [{ outcome: 'unreachable' }, 'no connection to the upstream; nothing was sent'],
    [{ outcome: 'unknown' }, 'sent, but no complete answer came; it may land'],
    [{ outcome: 'unknown', ...landing(EXPIRED) }, 'sent, but no complete answer came'],
  ]
  for (const [change, reason] of cases) t.equal(reasonOf({ ...ACCEPTED, ...change }), reason)
})

t.test('errors of the chain in words', async t => {
  const cases = [
    ['"InsufficientFundsForFee"', 'insufficient funds for fee'],
    [
      '{"InstructionError":[2,{"Custom":6001}]}',
      'instruction 3: custom program error 6001 (0x1771)',
    ],
    ['{"InstructionError":[0,"InvalidAccountData"]}', 'instruction 1: invalid account data'],
    ['{"InstructionError":[0,{"BorshIoError":"x"}]}', 'instruction 1: borsh io error: "x"'],
    [
      '{"InsufficientFundsForRent":{"account_index":3}}',
      'insufficient funds for rent: {"account_index":3}',
    ],
    ['{"Unknown":"+gAAAA=="}', 'unknown: "+gAAAA=="'],
    ['not JSON', 'not JSON'],
  ] as const
  for (const [json, words] of cases) t.equal(explainChainError(json), words)
})
