import t from 'tap'
import { explainChainError, reasonOf } from '../../../src/submission/store/reason.js'
import { isAwaited, stateOf } from '../../../src/submission/store/state.js'
import type { Landing, Submission } from '../../../src/submission/store/submission.js'
import { ACCEPTED, PENDING } from '../../fixtures/submission/submission.js'

const TIMES = { nowMs: ACCEPTED.receivedAtMs + 1_000, awaitedMs: 600_000 }
const LATER = { ...TIMES, nowMs: ACCEPTED.receivedAtMs + 661_000 }

const GOOD = { slot: 7, error: null }
const BAD = { slot: 8, error: '"AccountInUse"' }
const landing = (state: Landing['state'], ...transactions: Landing['transactions'][number][]) => ({
  landing: { state, transactions },
})

t.test('the state of a submission', async t => {
  const cases: [name: string, change: Partial<Submission>, state: string, later?: string][] = [
    ['not answered', { outcome: 'pending' }, 'sent', 'unseen'],
    ['accepted', {}, 'accepted', 'unseen'],
    ['looked for', landing('waiting', null, null), 'accepted', 'unseen'],
    ['without an answer', { outcome: 'unknown' }, 'unknown', 'unseen'],
    ['all landed', landing('settled', GOOD, GOOD), 'landed'],
    ['one landed, the other may', landing('waiting', GOOD, null), 'partly-landed'],
    ['one landed, the other cannot', landing('expired', GOOD, null), 'partly-landed'],
    ['one landed, one failed', landing('settled', GOOD, BAD), 'partly-landed'],
    ['all failed', landing('settled', BAD, BAD), 'failed'],
    ['one failed, the other cannot land', landing('expired', BAD, null), 'failed'],
    ['none landed', landing('expired', null, null), 'expired'],
    ['without an answer, expired', { outcome: 'unknown', ...landing('expired', null) }, 'expired'],
    ['not known', landing('unseen', null, null), 'unseen'],
    ['refused', { outcome: 'refused' }, 'refused'],
    ['refused, and not landed', { outcome: 'refused', ...landing('expired', null) }, 'refused'],
    ['refused, and landed', { outcome: 'refused', ...landing('settled', GOOD) }, 'landed'],
    ['invalid', { outcome: 'invalid' }, 'invalid'],
    ['full', { outcome: 'full' }, 'full'],
    ['unreachable', { outcome: 'unreachable' }, 'unreachable'],
  ]
  for (const [name, change, state, later = state] of cases) {
    t.equal(stateOf({ ...ACCEPTED, ...change }, TIMES), state, name)
    t.equal(stateOf({ ...ACCEPTED, ...change }, LATER), later, `${name}, much later`)
  }
})

t.test('what was sent is looked for until it is known', async t => {
  const cases: [submission: Submission, isAwaited: boolean][] = [
    [ACCEPTED, true],
    [{ ...ACCEPTED, outcome: 'unknown' }, true],
    [{ ...ACCEPTED, outcome: 'refused' }, true],
    [{ ...ACCEPTED, ...landing('waiting', GOOD, null) }, true],
    [{ ...ACCEPTED, ...landing('settled', GOOD, GOOD) }, false],
    [{ ...ACCEPTED, ...landing('unseen', null, null) }, false],
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
    [{ outcome: 'unknown', ...landing('expired', null) }, 'sent, but no complete answer came'],
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
