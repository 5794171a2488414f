import t from 'tap'
import { toRaceReply } from '../../../src/submission/race/reply.js'
import type { LaneReport } from '../../../src/submission/store/submission.js'

const LANES: readonly LaneReport[] = [
  { lane: 'a', outcome: 'accepted', writtenAfterMs: 0.1, answeredAfterMs: 2, status: 200 },
  { lane: 'b', outcome: 'left-out', leftOut: 'tip', writtenAfterMs: null, answeredAfterMs: null },
]
const ENDED = { result: null, error: null, engine: null, lanes: LANES } as const
const FORM = { isProtected: false, isJson: false }

t.test('the reply has the lanes in its header, and in its body where that is JSON', t => {
  const headers = { 'X-Race-Lanes': 'a:accepted;b:left-out-tip' }
  const accepted = { ...ENDED, outcome: 'accepted' } as const
  t.strictSame(toRaceReply(accepted, 'sig', FORM), {
    reply: { status: 200, contentType: 'text/plain', body: 'sig', headers },
  })
  t.strictSame(toRaceReply(accepted, 'sig', { ...FORM, isJson: true }).reply, {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ result: 'sig', lanes: LANES }),
    headers,
  })
  // Of what was sent by /send before.
  const { lanes: _lanes, ...unraced } = accepted
  t.match(toRaceReply(unraced, 'sig', FORM).reply.headers, { 'X-Race-Lanes': '' })
  t.end()
})

t.test('each outcome without an acceptance has its status and its error', t => {
  const cases = [
    ['invalid', 400, -32_602],
    ['refused', 400, -32_603],
    ['full', 429, -32_010],
    ['unreachable', 502, -32_603],
    ['unknown', 504, -32_603],
  ] as const
  for (const [outcome, status, code] of cases) {
    const { reply, failure } = toRaceReply({ ...ENDED, outcome }, 'sig', FORM)
    t.equal(reply.status, status, outcome)
    t.match(JSON.parse(String(reply.body)), { error: { code, data: { lanes: LANES } } })
    t.match(reply.headers, { 'X-Race-Lanes': 'a:accepted;b:left-out-tip' })
    t.match(failure, { row: { code } })
  }
  t.end()
})
