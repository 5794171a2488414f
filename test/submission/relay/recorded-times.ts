import { createHash } from 'node:crypto'
import t from 'tap'
import { createLog } from '../../../src/shared/log.js'
import { SingleFlight } from '../../../src/submission/single-flight.js'
import { BundleSender } from '../../../src/submission/relay/send-bundle.js'
import { createIds } from '../../../src/submission/store/submission-id.js'
import type { Ending, Submission } from '../../../src/submission/store/submission.js'
import { PENDING } from '../../fixtures/submission/submission.js'

const RECEIVED_MS = 1_900_000_000_000
const ID = createHash('sha256').update('bundle').digest('hex')
const never = (): never => {
  throw new Error('not here')
}

t.test('a record has the times of arrival, of sending and of the answer', async t => {
  const [waitMs, answerMs] = [40, 30]
  let nowMs = RECEIVED_MS
  const begun: Submission[] = []
  const ended: Ending[] = []
  const forwardedAfterMs: number[] = []
  const sender = new BundleSender(
    { network: 'main', route: '/relay-bundle' },
    {
      sendBundle: async () => {
        nowMs += answerMs
        const engine = { status: 200, words: '' }
        return { outcome: 'accepted', result: `"${ID}"`, error: null, engine }
      },
      askStatuses: never,
    },
    {
      upstream: { send: never },
      queue: { enter: () => true },
      statusQueue: { enter: never },
      singleFlight: new SingleFlight(() => true),
      store: {
        begin: (_id, submission) => {
          begun.push(submission)
          return {
            onStart: never,
            end: async ending => {
              ended.push(ending)
              return true
            },
          }
        },
        record: never,
      },
      tipSlot: () => 7,
      log: createLog('sender', never),
      now: () => nowMs,
      clock: () => nowMs,
      meter: {
        onForward: elapsedMs => forwardedAfterMs.push(elapsedMs),
        onJoined: never,
        onMismatch: never,
      },
    },
  )
  const submissionId = createIds(() => nowMs)()
  nowMs += waitMs
  const sent = await sender.send(
    {
      submissionId,
      startMs: RECEIVED_MS,
      transactions: ['AA=='],
      bundleId: ID,
      pending: { ...PENDING, bundleId: ID, receivedAtMs: RECEIVED_MS },
      version: 1,
    },
    () => true,
  )
  const times = {
    forwardedAtMs: RECEIVED_MS + waitMs,
    answeredAtMs: RECEIVED_MS + waitMs + answerMs,
  }
  t.match(sent, { ending: { outcome: 'accepted', ...times }, joined: null })
  t.match(begun, [
    {
      bundleId: ID,
      outcome: 'pending',
      receivedAtMs: RECEIVED_MS,
      receivedSlot: 7,
      forwardedAtMs: RECEIVED_MS + waitMs,
      answeredAtMs: null,
    },
  ])
  t.match(ended, [{ outcome: 'accepted', result: `"${ID}"`, error: null, ...times }])
  t.strictSame(forwardedAfterMs, [waitMs])
})
