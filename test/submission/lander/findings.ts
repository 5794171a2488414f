import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { toConfig } from '../../../src/config/config.js'
import { failureReply } from '../../../src/edge/admission.js'
import { encodePubkey } from '../../../src/native/encoding.js'
import { openSender } from '../../../src/sender/sender.js'
import { RpcError } from '../../../src/shared/errors.js'
import { createLog } from '../../../src/shared/log.js'
import { createMetrics } from '../../../src/shared/metrics.js'
import type { Verdict } from '../../../src/native/transactions.js'
import type { Recheck } from '../../../src/submission/lander/lander-types.js'
import { Lander } from '../../../src/submission/lander/lander.js'
import { defaults, type Options as LanderOptions } from '../../../src/submission/lander/options.js'
import { SenderClient } from '../../../src/submission/link/sender-client.js'
import { openSocketPath } from '../../../src/submission/link/socket-path.js'
import { createIds } from '../../../src/submission/store/submission-id.js'
import { LIMITS } from '../../fixtures/access/access.js'
import {
  BATCH,
  BUNDLE,
  bundle,
  failure,
  findingsOf,
  GOOD,
  OK,
  openTestLander,
  SINGLE,
  single,
} from '../../fixtures/submission/lander.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import { openTestServer } from '../../fixtures/server/server.js'
import { SHARED_ABSENT, sharedPath } from '../../fixtures/shared.js'
import { FLOOR, forged, frame, sized, tipping } from '../../fixtures/sandbox/tipping.js'
import { until } from '../../fixtures/until.js'

const bodyOf = (route: string, transactions: readonly Buffer[]): string | Buffer => {
  if (route === BATCH) return frame(...transactions)
  const [first = Buffer.alloc(0)] = transactions
  return route === BUNDLE ? bundle(transactions) : single(first)
}

t.test('findings travel beside the answer', async t => {
  const { post, edge } = await openTestLander(t)
  const half = FLOOR / 2n
  const good = tipping([FLOOR, 0])
  const poor = tipping([FLOOR - 1n, 0])
  const none = tipping()
  const junk = Buffer.alloc(100, 1)
  const long = Buffer.concat([good, Buffer.of(0)])
  const cases: [name: string, route: string, transactions: Buffer[], findings: string][] = [
    ['a tip at the floor', SINGLE, [good], ''],
    ['a tip to the last of the lander', SINGLE, [tipping([FLOOR, 9])], ''],
    ['a tip to the service', SINGLE, [tipping([FLOOR, 10])], ''],
    ['a tip to the last of the service', SINGLE, [tipping([FLOOR, 14])], ''],
    ['a tip in two halves to both', SINGLE, [tipping([half, 0], [half, 14])], ''],
    ['a lamport too little', SINGLE, [poor], '0:tip'],
    ['halves that are a lamport too little', SINGLE, [tipping([half, 0], [half - 1n, 1])], '0:tip'],
    ['no tip', SINGLE, [none], '0:tip'],
    ['a wrong signature', SINGLE, [forged(good)], '0:signature'],
    ['a wrong signature and no tip', SINGLE, [forged(none)], '0:signature,tip'],
    ['no transaction', SINGLE, [junk], '0:structure'],
    ['bytes behind it', SINGLE, [long], '0:structure'],
    ['of the largest size', SINGLE, [sized(1232)], ''],
    ['a byte larger', SINGLE, [sized(1233)], '0:structure'],

    ['one tip in the middle', BUNDLE, [none, good, none], ''],
    ['a tip in parts of two', BUNDLE, [tipping([half, 0]), tipping([half, 0])], 'bundle:tip'],
    ['a lamport too little in each', BUNDLE, [poor, tipping([FLOOR - 1n, 1])], 'bundle:tip'],
    ['no tip at all', BUNDLE, [none], 'bundle:tip'],
    ['wrong signatures', BUNDLE, [forged(good), none, forged(none)], '0:signature;2:signature'],
    ['all kinds', BUNDLE, [forged(none), none], '0:signature;bundle:tip'],
    ['one that cannot be read', BUNDLE, [none, junk], '1:structure'],

    ['all with tips', BATCH, [good, tipping([FLOOR, 3])], ''],
    ['one without', BATCH, [good, none, tipping([FLOOR, 3])], '1:tip'],
    [
      'sixteen, half of them wrong',
      BATCH,
      Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? tipping([FLOOR, 0]) : none)),
      '1:tip;3:tip;5:tip;7:tip;9:tip;11:tip;13:tip;15:tip',
    ],
    ['all kinds', BATCH, [junk, forged(none), good, poor], '0:structure;1:signature,tip;3:tip'],
  ]
  for (const [name, route, transactions, findings] of cases) {
    const body = bodyOf(route, transactions)
    const reply = await post(route, body)
    t.equal(reply.status, 200, `${route}: ${name}`)
    t.equal(findingsOf(reply), findings)
  }
  const page = await edge.metrics()
  const series = 'slotline_lander_findings_total{process="edge 0",network="main",route'
  t.match(page, `${series}="/lander",kind="tip"} 4`)
  t.match(page, `${series}="/lander",kind="structure"} 3`)
  t.match(page, `${series}="/lander-submit-bundle",kind="signature"} 3`)
  t.match(page, `${series}="/lander-submit-batch",kind="tip"} 11`)
})

t.test('enforced, a finding is an error and nothing is forwarded', async t => {
  const { raw, post, edge } = await openTestLander(t, undefined, { enforce: true })
  const half = FLOOR / 2n
  const good = tipping([FLOOR, 0])
  const poor = tipping([FLOOR - 1n, 0])
  const none = tipping()
  const junk = Buffer.alloc(100, 1)
  const missing = 'Missing tip: no transfer to tip accounts found'
  const insufficient = (lamports: bigint): string =>
    `Insufficient tip: provided ${lamports} lamports, required 1000000 lamports`
  const unsigned = (index: number): string => `transaction ${index} signature verification failure`
  const layout = 'transaction 0 is malformed: ends at byte 100 inside the account keys'
  const cases: [name: string, route: string, transactions: Buffer[], error: string | undefined][] =
    [
      ['a tip at the floor', SINGLE, [good], undefined],
      ['a lamport more', SINGLE, [tipping([FLOOR + 1n, 14])], undefined],
      ['a lamport too little', SINGLE, [poor], insufficient(FLOOR - 1n)],
      ['one lamport', SINGLE, [tipping([1n, 0])], insufficient(1n)],
      ['none', SINGLE, [none], missing],
      ['a wrong signature', SINGLE, [forged(good)], unsigned(0)],
      ['a wrong signature and no tip', SINGLE, [forged(none)], unsigned(0)],
      ['no transaction', SINGLE, [junk], layout],
      [
        'a version-0 size',
        SINGLE,
        [sized(1233)],
        'transaction 0 is malformed: 1233 bytes, at most 1232',
      ],

      ['one pays', BUNDLE, [none, good, none, none], undefined],
      [
        'none pays enough',
        BUNDLE,
        [tipping([half, 0]), tipping([half + 1n, 0])],
        insufficient(half + 1n),
      ],
      ['none pays', BUNDLE, [none, none], missing],
      ['the third is forged', BUNDLE, [good, none, forged(none)], unsigned(2)],

      ['each pays', BATCH, [good, tipping([FLOOR, 11])], undefined],
      ['the second does not', BATCH, [good, none, poor], `record 1: ${missing}`],
      [
        'the third pays too little',
        BATCH,
        [good, tipping([FLOOR, 1]), poor],
        `record 2: ${insufficient(FLOOR - 1n)}`,
      ],
      [
        'structure before signature before tip',
        BATCH,
        [none, forged(good), junk],
        'transaction 2 is malformed: ends at byte 100 inside the account keys',
      ],
    ]
  for (const [name, route, transactions, error] of cases) {
    raw.received.length = 0
    const count = transactions.length
    const body = bodyOf(route, transactions)
    const reply = await post(route, body)
    const batch = { attempted: count, accepted: 0, rejected: count, parse_error: error }
    const wanted = route === BATCH ? JSON.stringify(batch) : failure(-32602, error ?? '')
    t.equal(reply.text, error === undefined ? OK : wanted, `${route}: ${name}`)
    t.equal(reply.status, route === BATCH && error !== undefined ? 400 : 200)
    t.equal(raw.received.length, error === undefined ? 1 : 0)
    if (error === undefined) t.strictSame(raw.received[0]?.body, Buffer.from(body))
    t.equal(findingsOf(reply), '')
  }
  t.match(await edge.metrics(), 'route="/lander",outcome="tipInsufficient"} 2')
})

const never = (): never => {
  throw new Error('not to be called')
}

/** `/lander` on a server of its own, over checks that the test supplies. */
const openOver = async (
  t: Test,
  checkBundle: () => Promise<Verdict>,
  { recheck = () => undefined, ...options }: Partial<LanderOptions> & { recheck?: Recheck },
) => {
  const raw = await openRawUpstream(t, s => s.write(answer(OK)))
  const dataDir = mkdtempSync(join(tmpdir(), 'lander-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const config = toConfig(
    {
      dataDir,
      networks: [
        {
          id: 'main',
          feed: { endpoint: 'http://127.0.0.1:1' },
          lander: {
            upstream: { urls: [raw.url], pingPath: '' },
            tipAddresses: [encodePubkey(new Uint8Array(32).fill(7))],
          },
        },
      ],
      locations: [{ id: 'fra', name: 'F', listeners: [{ host: '127.0.0.1', port: 1 }] }],
    },
    { takesConstants: true },
  )
  const sender = await openSender(config, {
    log: createLog('sender', () => {}),
    metrics: createMetrics('sender'),
    now: () => performance.now(),
    version: () => 1,
  })
  const client = new SenderClient({
    path: openSocketPath(dataDir),
    waitMs: 1_000,
    callsMax: 100,
    bytesMax: 1024 ** 2,
    answerBytesMax: 1024 ** 2,
    onTold: () => {},
    onFault: fault => t.fail(String(fault)),
  })
  t.teardown(async () => {
    await client.close()
    await sender.drain()
  })
  const findings: string[] = []
  const outcomes: string[] = []
  const lander = new Lander(
    { ...defaults, ...options },
    {
      network: 'main',
      sender: client,
      noSender: failureReply('noSender'),
      newId: createIds(Date.now),
      version: () => 1,
      checks: {
        frameBatch: never,
        checkBatch: never,
        checkBundle,
        readTransaction: never,
        checkTransaction: never,
        bundleId: () => null,
        waiting: never,
      },
      meter: {
        onEnd: (_route, outcome) => void outcomes.push(outcome),
        onFinding: (_route, kind) => void findings.push(kind),
      },
      now: () => performance.now(),
      nestingMax: 127,
    },
  )
  const grant = {
    ...{ accessId: 'access', tokenId: 'token', network: 'main', location: 'fra' },
    ...{ limits: LIMITS, validFromMs: 0, validUntilMs: Infinity, address: undefined },
  }
  const { port } = await openTestServer(t, [
    {
      pattern: '/lander',
      bodyBytesMax: 10_000,
      handle: async (_, body) => (await lander.submit('/lander', body, { grant, recheck })).reply,
    },
  ])
  const send = async () => {
    const url = `http://127.0.0.1:${port}/lander`
    const response = await fetch(url, { method: 'POST', body: single(GOOD) })
    return {
      status: response.status,
      text: await response.text(),
      findings: response.headers.get('x-lander-findings'),
    }
  }
  return { raw, send, findings, outcomes }
}

t.test('checks that are late or fail never hold up an answer', async t => {
  const cases: [name: string, checkBundle: () => Promise<Verdict>][] = [
    ['late', () => new Promise(() => {})],
    ['refused', () => Promise.reject(new RpcError('checksOverloaded'))],
    ['broken', never],
  ]
  for (const [name, checkBundle] of cases) {
    const { send, findings, outcomes } = await openOver(t, checkBundle, { findingsWaitMs: 30 })
    t.strictSame(await send(), { status: 200, text: OK, findings: 'unchecked' }, name)
    t.strictSame(findings, ['unchecked'])
    t.strictSame(outcomes, ['forwarded'])
  }
})

t.test('an answer waits for no finding by default, and the finding counts later', async t => {
  const malformed: Verdict = {
    members: [
      {
        problem: { kind: 'structure', reason: 'invalid' },
        tips: [0n],
        paid: [],
        qualifies: false,
      },
    ],
  }
  let release = (_verdict: Verdict): void => {}
  const checked = new Promise<Verdict>(resolve => (release = resolve))
  const { send, findings } = await openOver(t, () => checked, {})
  t.strictSame(await send(), { status: 200, text: OK, findings: 'unchecked' })
  t.strictSame(findings, ['unchecked'])
  release(malformed)
  await until('the finding is counted', () => findings.length === 2)
  t.strictSame(findings, ['unchecked', 'structure'])

  const { send: sendKnown } = await openOver(t, () => Promise.resolve(malformed), {})
  t.match(
    await sendKnown(),
    { findings: '0:structure' },
    'findings known by then are in the header',
  )
})

t.test('enforced, what cannot be checked is not forwarded', async t => {
  const fine: Verdict = { members: [] }
  const gone = { status: 401, contentType: 'text/plain', body: 'gone' }
  const enforce = true

  const busy = await openOver(t, () => Promise.reject(new RpcError('checksOverloaded')), {
    enforce,
  })
  const message = 'Too many transaction checks in flight; retry with backoff'
  t.match(await busy.send(), { status: 503, text: failure(-32603, message) })
  t.strictSame(busy.outcomes, ['checksOverloaded'])
  t.equal(busy.raw.received.length, 0)

  const broken = await openOver(t, never, { enforce })
  t.match(await broken.send(), { status: 500 })
  t.equal(broken.raw.received.length, 0)

  let hasEnded = false
  const recheck = () => (hasEnded ? gone : undefined)
  const revoked = await openOver(
    t,
    async () => {
      // The token is revoked while the check runs.
      hasEnded = true
      return fine
    },
    { enforce, recheck },
  )
  t.match(await revoked.send(), { status: 401, text: 'gone' })
  t.strictSame(revoked.outcomes, ['refused'])
  t.equal(revoked.raw.received.length, 0)
})

type Fixture = { readonly tx: string; readonly expect: string; readonly reason?: string }

const folder = sharedPath('transactions')
t.test(
  'real transactions, and real ones with one thing wrong',
  { skip: folder === undefined && SHARED_ABSENT },
  async t => {
    const { post, raw } = await openTestLander(t)
    let seen = 0
    for (const file of readdirSync(folder ?? '')) {
      const {
        tx,
        expect,
        reason = '',
      }: Fixture = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))
      raw.received.length = 0
      const reply = await post(SINGLE, single(tx))
      if (/base64/.test(reason)) {
        t.match(reply.text, 'is not canonical padded base64', reason)
        t.equal(raw.received.length, 0)
        continue
      }
      seen++
      const own = findingsOf(reply).replace(/,?tip$/, '')
      const isSigning = /signature \d|signature zeroed|of R flipped|group order/
      const wanted =
        expect === 'valid'
          ? /^(0:)?$/
          : isSigning.test(reason)
            ? /^0:signature$/
            : // The bit that was flipped may be one of a length.
              /flipped$/.test(reason)
              ? /^0:(signature|structure)$/
              : /^0:structure$/
      t.match(own, wanted, `${file}: ${reason}`)
      t.equal(raw.received.length, 1)
    }
    t.ok(seen > 140)
  },
)
