import { createHash } from 'node:crypto'
import t from 'tap'
import { createLog } from '../../../src/shared/log.js'
import { LOCK_TABLE_WORDS, LockTable } from '../../../src/submission/single-flight/lock-table.js'
import { SingleFlight } from '../../../src/submission/single-flight/single-flight.js'
import { defaults } from '../../../src/submission/relay/options.js'
import { BundleSender } from '../../../src/submission/relay/send-bundle.js'
import { createIds } from '../../../src/submission/store/submission-id.js'
import type { Ending, Submission } from '../../../src/submission/store/submission.js'
import { LIMITS } from '../../fixtures/access/access.js'

const RECEIVED_MS = 1_900_000_000_000
const ID = createHash('sha256').update('bundle').digest('hex')
const SIGNATURE = '1'.repeat(64)
const GRANT = {
  accessId: 'access',
  tokenId: 'token',
  network: 'main',
  location: 'fra',
  limits: LIMITS,
  validFromMs: 0,
  validUntilMs: RECEIVED_MS + 1_000_000,
  address: undefined,
}
const never = (): never => {
  throw new Error('not here')
}

const VERDICT = {
  members: [
    {
      signature: SIGNATURE,
      isSigned: true,
      tips: [],
      qualifies: true,
    },
  ],
  bundleId: ID,
}

t.test('a record has the times of arrival, of sending and of the answer', async t => {
  const [checksMs, answerMs] = [40, 30]
  let nowMs = RECEIVED_MS
  const begun: Submission[] = []
  const ended: Ending[] = []
  const locks = new LockTable({
    words: new BigInt64Array(LOCK_TABLE_WORDS),
    edgeIndex: 0,
    lockSecondsMax: 60,
    nowSeconds: () => 0,
  })
  const sender = new BundleSender(
    {
      ...defaults,
      network: 'main',
      route: '/relay-bundle',
      serviceTipAccounts: [],
      engineTipAccounts: [],
    },
    {
      sendBundle: async () => {
        nowMs += answerMs
        const engine = { status: 200, words: '' }
        return { outcome: 'accepted', result: `"${ID}"`, error: null, engine }
      },
      askStatuses: never,
    },
    {
      checks: {
        bundleId: () => null,
        checkBundle: async () => {
          nowMs += checksMs
          return VERDICT
        },
      },
      upstream: { send: never },
      queue: { enter: () => true },
      statusQueue: { enter: never },
      singleFlight: new SingleFlight(
        { followPollMs: 1, followMs: 1 },
        { locks, read: never, now: () => nowMs },
      ),
      store: {
        begin: (id, submission) => {
          begun.push(submission)
          return {
            id,
            end: async ending => {
              ended.push(ending)
              return true
            },
          }
        },
        record: never,
        find: never,
        has: never,
      },
      log: createLog('edge', never),
      now: () => nowMs,
      clock: () => nowMs,
      meter: { onCall: never, onForward: () => {}, onJoined: never, onMismatch: never },
    },
  )
  const { outcome } = await sender.send([['AA=='], { encoding: 'base64' }], {
    grant: GRANT,
    request: { id: 'request' },
    recheck: () => undefined,
    submissionId: createIds(() => nowMs)(),
  })
  t.strictSame(outcome, { result: `"${ID}"` })
  t.match(begun, [
    {
      accessId: 'access',
      bundleId: ID,
      signatures: [SIGNATURE],
      outcome: 'pending',
      receivedAtMs: RECEIVED_MS,
      forwardedAtMs: RECEIVED_MS + checksMs,
      answeredAtMs: null,
    },
  ])
  t.strictSame(ended, [
    {
      outcome: 'accepted',
      result: `"${ID}"`,
      error: null,
      engine: { status: 200, words: '' },
      forwardedAtMs: RECEIVED_MS + checksMs,
      answeredAtMs: RECEIVED_MS + checksMs + answerMs,
    },
  ])
})
