import t, { type Test } from 'tap'
import { StoreReader } from '../../../src/submission/store/store-reader.js'
import type { Submission } from '../../../src/submission/store/submission.js'
import { frame, tipping } from '../../fixtures/sandbox/tipping.js'
import {
  BATCH,
  BUNDLE,
  bundle,
  GOOD,
  OK,
  openTestLander,
  SINGLE,
  single,
} from '../../fixtures/submission/lander.js'
import { answer, type Script } from '../../fixtures/submission/raw-upstream.js'
import type { SubmissionEdge } from '../../fixtures/submission/submission-edge.js'
import { until } from '../../fixtures/until.js'

const POOR = tipping([1n, 0])

/** The newest recorded submission, once it matches. */
const recorded = async (
  t: Test,
  { accessId, dataDir }: SubmissionEdge,
  isIt: (submission: Submission) => boolean,
): Promise<Submission> => {
  const readers = new StoreReader(dataDir)
  t.teardown(() => readers.close())
  let last: Submission | undefined
  await until('it is recorded', async () => {
    const start = { before: undefined, countMax: 1, limitMs: 5_000, now: Date.now }
    last = (await readers.search({ accessId }, start)).found[0]?.submission
    return last !== undefined && isIt(last)
  })
  if (last === undefined) throw new Error('nothing is recorded')
  return last
}

const isEnded = ({ outcome }: Submission): boolean => outcome !== 'pending'

/** The first signature and the blockhash of a transaction, in base58. */
const SIGNED = { signatures: [/^[1-9A-HJ-NP-Za-km-z]{64,88}$/], blockhashes: [String] }

const counts = (attempted: number, accepted: number, parse_error: string | null = null): string =>
  JSON.stringify({ attempted, accepted, rejected: attempted - accepted, parse_error })
const error = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  error: { code: -32_000, message: 'transaction contains blocked arb program' },
})

type Case = readonly [
  name: string,
  route: string,
  body: string | Uint8Array,
  script: Script,
  record: object,
]

const say =
  (body: string, status = '200 OK'): Script =>
  s =>
    void s.write(answer(body, { status }))

const CASES: readonly Case[] = [
  ['accepted', SINGLE, single(GOOD), say(OK), { ...SIGNED, outcome: 'accepted', result: '"ok"' }],
  [
    'a bundle, with a finding',
    BUNDLE,
    bundle([POOR]),
    say(OK),
    { ...SIGNED, outcome: 'accepted', bundleId: /^[0-9a-f]{64}$/, findings: 'bundle:tip' },
  ],
  [
    'refused with an error',
    SINGLE,
    single(GOOD),
    say(error, '400 Bad Request'),
    { ...SIGNED, outcome: 'refused', error: /blocked arb program/, engine: { status: 400 } },
  ],
  [
    'refused with words',
    SINGLE,
    single(GOOD),
    say('tip required', '400 Bad Request'),
    { outcome: 'refused', error: null, engine: { status: 400, words: 'tip required' } },
  ],
  ['no capacity', SINGLE, single(GOOD), say('slow down', '429 Too Many'), { outcome: 'full' }],
  ['an answer of another kind', SINGLE, single(GOOD), say('hello'), { outcome: 'unknown' }],
  [
    'an answer that is too long to be read',
    SINGLE,
    single(GOOD),
    say(`{"result":"${'a'.repeat(20_000)}"}`),
    { outcome: 'unknown', engine: { status: 200, words: /^.{1025}$/ } },
  ],
  [
    'a whole batch',
    BATCH,
    frame(GOOD, POOR),
    say(counts(2, 2)),
    { outcome: 'accepted', bundleId: null, error: null, findings: '1:tip' },
  ],
  [
    'a part of a batch',
    BATCH,
    frame(GOOD, POOR),
    say(counts(2, 1), '400 Bad Request'),
    { outcome: 'accepted', error: '{"message":"1 of 2 transactions accepted"}' },
  ],
  [
    'nothing of a batch',
    BATCH,
    frame(GOOD),
    say(counts(1, 0, 'no tip'), '400 Bad Request'),
    { outcome: 'refused', error: '{"message":"0 of 1 transactions accepted: no tip"}' },
  ],
  [
    'a batch with an answer of another kind',
    BATCH,
    frame(GOOD),
    say('{"attempted":"1"}', '400 Bad Request'),
    { outcome: 'refused', error: null },
  ],
  ['no answer', SINGLE, single(GOOD), s => void s.destroy(), { ...SIGNED, outcome: 'unknown' }],
]

t.test('what was forwarded is recorded with its transactions and its answer', async t => {
  for (const [name, route, body, script, record] of CASES)
    await t.test(name, async t => {
      const { raw, edge, post } = await openTestLander(t, script)
      await post(route, body)
      const found = await recorded(t, edge, isEnded)
      t.match(found, { route, network: 'main', location: 'fra', checks: 'passed', ...record })
      const { accessId, answeredAtMs, forwardedAtMs, receivedAtMs } = found
      t.equal(accessId, edge.accessId)
      t.ok(Number(answeredAtMs) >= Number(forwardedAtMs) && Number(forwardedAtMs) >= receivedAtMs)
      t.strictSame(raw.received[0]?.body, Buffer.from(body), 'it was forwarded as it came')
    })
})

t.test('what was not sent is recorded with the reason', async t => {
  const { edge, post } = await openTestLander(t, undefined, {
    upstream: { urls: ['http://127.0.0.1:1'], connectMs: 200 },
  })
  await post(SINGLE, single(GOOD))
  t.match(await recorded(t, edge, isEnded), {
    ...SIGNED,
    outcome: 'unreachable',
    forwardedAtMs: null,
  })
  const refusals = [
    [SINGLE, 'not JSON', 'Parse error'],
    [SINGLE, single('AAA'), 'transaction 0 is not canonical padded base64'],
    [BUNDLE, bundle([]), /^sendBundle/],
    [BATCH, frame(GOOD).subarray(1), /^record 0 at offset/],
  ] as const
  for (const [route, body, checks] of refusals) {
    const startedMs = Date.now()
    await post(route, body)
    const found = await recorded(
      t,
      edge,
      ({ outcome, receivedAtMs }) => outcome === 'invalid' && receivedAtMs >= startedMs,
    )
    t.match(found, { route, checks, signatures: [], forwardedAtMs: null, engine: null })
    await new Promise(resolve => setTimeout(resolve, 2))
  }
})

t.test('a finding that is enforced is recorded with its transactions', async t => {
  const { raw, edge, post } = await openTestLander(t, undefined, { enforce: true })
  await post(SINGLE, single(POOR))
  t.match(await recorded(t, edge, isEnded), {
    ...SIGNED,
    outcome: 'invalid',
    checks: /^Insufficient tip/,
    forwardedAtMs: null,
  })
  t.equal(raw.received.length, 0)
})

t.test('a request that is not answered yet is pending', async t => {
  let answerNow = (): void => {}
  const { edge, post } = await openTestLander(t, s => {
    answerNow = () => void s.write(answer(OK))
  })
  const reply = post(SINGLE, single(GOOD))
  const pending = await recorded(t, edge, () => true)
  t.match(pending, { ...SIGNED, outcome: 'pending', answeredAtMs: null })
  answerNow()
  t.equal((await reply).text, OK)
  t.match(await recorded(t, edge, isEnded), {
    outcome: 'accepted',
    receivedAtMs: pending.receivedAtMs,
  })
})
