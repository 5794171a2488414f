import { createHash } from 'node:crypto'
import t from 'tap'
import { createLog } from '../../../src/shared/log.js'
import { CLAIM_WORDS, createClaims } from '../../../src/submission/single-flight/lock-table.js'
import type { Engine, SendPrepared } from '../../../src/submission/relay/engine.js'
import { createFlights } from '../../../src/submission/single-flight/single-flight.js'
import { defaults } from '../../../src/submission/relay/options.js'
import { createSendBundle } from '../../../src/submission/relay/send-bundle.js'
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

/** One bundle whose checks take so long, and what the ledger is told of it. */
const sendOne = async (checksMs: number, isWarm: boolean) => {
  let nowMs = RECEIVED_MS
  const begun: Submission[] = []
  const ended: Ending[] = []
  const send = async (mayWrite?: () => boolean) => {
    if (mayWrite?.() === false) return undefined
    nowMs += 30
    const engine = { status: 200, words: '' }
    return { outcome: 'accepted', result: `"${ID}"`, error: null, engine } as const
  }
  const engine: Engine = {
    prepareBundle: () => send as SendPrepared,
    isWarm: () => isWarm,
    askStatuses: never,
  }
  const claims = createClaims({
    words: new BigInt64Array(CLAIM_WORDS),
    edgeIndex: 0,
    claimSecondsMax: 60,
    nowSeconds: () => 0,
  })
  const sendBundle = createSendBundle(
    {
      ...defaults,
      network: 'main',
      route: '/relay-bundle',
      serviceTipAccounts: [],
      engineTipAccounts: [],
    },
    engine,
    {
      bucket: { take: () => true },
      flights: createFlights(
        { followPollMs: 1, followMs: 1 },
        { claims, read: never, now: () => nowMs },
      ),
      book: {
        prepare: (id, submission) => () => {
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
      },
      log: createLog('edge', never),
      now: () => nowMs,
      clock: () => nowMs,
      meter: { onCall: never, onForward: () => {}, onJoined: never, onMismatch: never },
    },
  )
  const { outcome } = await sendBundle(
    () => ({
      begun: {
        signatures: [SIGNATURE],
        faults: [],
        duplicate: undefined,
        bundleId: ID,
        qualifies: true,
        wrongSignature: () => {
          nowMs += checksMs
          return undefined
        },
      },
      list: new Uint8Array(0),
    }),
    {
      grant: GRANT,
      request: { id: 'request' },
      recheck: () => undefined,
      submissionId: createIds(() => nowMs)(),
    },
  )
  return { outcome, begun, ended }
}

for (const isWarm of [true, false]) {
  t.test(`a flight begins in the ledger when it does, ${isWarm ? 'early' : 'late'}`, async t => {
    // A millisecond is not worth a record of its own; the end has the right time.
    const cases: [checksMs: number, beginsMs: number][] = [
      [0, 0],
      [1, 0],
      [2, 2],
      [40, 40],
    ]
    for (const [checksMs, beginsMs] of cases) {
      const { outcome, begun, ended } = await sendOne(checksMs, isWarm)
      t.strictSame(outcome, { result: `"${ID}"` })
      t.match(begun, [
        {
          accessId: 'access',
          bundleId: ID,
          signatures: [SIGNATURE],
          outcome: 'pending',
          receivedAtMs: RECEIVED_MS,
          forwardedAtMs: RECEIVED_MS + beginsMs,
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
          answeredAtMs: RECEIVED_MS + checksMs + 30,
        },
      ])
    }
  })
}
