import { readdirSync, readFileSync } from 'node:fs'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import { deriveBundleId } from '../../../src/sandbox/upstreams/derive-bundle-id.js'
import { RELAY_ROUTES } from '../../../src/submission/store/submission.js'
import { answer, openRawUpstream } from '../../fixtures/submission/raw-upstream.js'
import {
  openMachine,
  OPTIONS,
  post,
  QUALIFYING,
  toTransaction,
} from '../../fixtures/submission/relay.js'
import { accepted } from '../../fixtures/submission/relay-engine.js'
import { SHARED_ABSENT, sharedPath } from '../../fixtures/shared.js'
import { anyEdits, edit } from '../../fixtures/submission/text-edits.js'
import { openSubmissionEdge } from '../../fixtures/submission/submission-edge.js'
import { base64, FLOOR, frame, tipping, TIPS } from '../../fixtures/sandbox/tipping.js'

/** A change of a transaction's bytes: set one, cut some off, put some in, or none. */
type Change =
  | { readonly kind: 'none' }
  | { readonly kind: 'set'; readonly at: number; readonly value: number }
  | { readonly kind: 'cut'; readonly at: number; readonly count: number }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Uint8Array }

const anyChange: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'none' } as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      at: fc.nat(2_000),
      value: fc.nat(255),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('cut' as const),
      at: fc.nat(2_000),
      count: fc.integer({ min: 1, max: 80 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      at: fc.nat(2_000),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    }),
  },
)

const change = (bytes: Buffer, how: Change): Buffer => {
  if (how.kind === 'none') return bytes
  const at = how.at % bytes.length
  const changed = Buffer.from(bytes)
  if (how.kind === 'set') {
    changed[at] = how.value
    return changed
  }
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  return how.kind === 'cut'
    ? Buffer.concat([before, after.subarray(how.count)])
    : Buffer.concat([before, how.bytes, after])
}

t.test('a bundle reaches an engine only if none of its members was changed', async t => {
  const engine = await openRawUpstream(t, (socket, { body }) => {
    socket.write(answer(accepted(body)))
  })
  const { edges } = await openMachine(t, { urls: [engine.url] })
  const [{ port }] = edges
  for (const route of RELAY_ROUTES) {
    const members = [0, 1, 2].map(nth =>
      toTransaction(route, { ...QUALIFYING, name: `member ${nth}` }),
    )
    let forwarded = 0
    const submit = async (body: string) => {
      engine.received.length = 0
      const { status, json } = await post(port, route, body)
      forwarded += engine.received.length
      const isAnswered =
        status === 200 && (json.error === undefined) !== (json.result === undefined)
      return { isAnswered, isTaken: json.error === undefined, seen: engine.received }
    }
    const changes = fc.array(anyChange, { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(changes, fc.constantFrom(0, 1), async (all, space) => {
        const changed = all.map((how, nth) => change(members[nth] ?? Buffer.alloc(0), how))
        // Any change to a signed transaction makes its signatures invalid.
        const isUnchanged = changed.every((bytes, nth) => bytes.equals(members[nth] ?? bytes))
        const texts = changed.map(base64)
        const { isAnswered, isTaken, seen } = await submit(
          JSON.stringify(
            { jsonrpc: '2.0', id: 1, method: 'sendBundle', params: [texts, OPTIONS[route]] },
            null,
            space,
          ),
        )
        return isAnswered && isTaken === isUnchanged && seen.length === (isUnchanged ? 1 : 0)
      }),
      { numRuns: 200 },
    )
    const whole = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'sendBundle',
      params: [members.map(base64), OPTIONS[route]],
    })
    const wanted = new Set(members.map(base64))
    await fc.assert(
      fc.asyncProperty(anyEdits, async edits => {
        const { isAnswered, isTaken, seen } = await submit(edits.reduce(edit, whole))
        if (!isTaken) return isAnswered && seen.length === 0
        // The forwarded call is rebuilt: known members, and exactly the options.
        const [texts, options, ...more] = JSON.parse(seen[0]?.body.toString() ?? '').params
        return (
          isAnswered &&
          seen.length === 1 &&
          more.length === 0 &&
          JSON.stringify(options) === JSON.stringify(OPTIONS[route]) &&
          texts.every((text: string) => wanted.has(text)) &&
          new Set(texts).size === texts.length
        )
      }),
      { numRuns: 200 },
    )
    t.ok(forwarded > 20, `${route}: ${forwarded} were valid`)
  }
})

t.test('with checks enforced no changed transaction reaches the lander', async t => {
  const raw = await openRawUpstream(t, socket => socket.write(answer('{"result":"ok"}')))
  const edge = await openSubmissionEdge(t, {
    upstream: { urls: [raw.url] },
    tipAddresses: TIPS,
    enforce: true,
  })
  const members = Array.from({ length: 4 }, () => tipping([FLOOR, 0]))
  const call = (method: string, transactions: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [transactions] })
  const routes: [route: string, type: string, toBody: (all: Buffer[]) => string | Buffer][] = [
    [
      '/lander',
      'application/json',
      ([one = Buffer.alloc(0)]) => call('sendTransaction', base64(one)),
    ],
    ['/lander-submit-bundle', 'application/json', all => call('sendBundle', all.map(base64))],
    ['/lander-submit-batch', 'application/octet-stream', all => frame(...all)],
  ]
  for (const [route, type, toBody] of routes) {
    let forwarded = 0
    const countMax = route === '/lander' ? 1 : members.length
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyChange, { minLength: 1, maxLength: countMax }),
        async changes => {
          raw.received.length = 0
          const changed = changes.map((how, nth) => change(members[nth] ?? Buffer.alloc(0), how))
          const isUnchanged = changed.every((bytes, nth) => bytes.equals(members[nth] ?? bytes))
          const body = toBody(changed)
          const { status, text } = await edge.post(`/${edge.token}${route}`, body, {
            'content-type': type,
          })
          forwarded += raw.received.length
          if (isUnchanged)
            return (
              status === 200 &&
              text === '{"result":"ok"}' &&
              raw.received.length === 1 &&
              raw.received[0]?.body.equals(Buffer.from(body)) === true
            )
          const isRefused =
            type === 'application/json'
              ? status === 200 && /"code":-32602/.test(text)
              : status === 400 && /"accepted":0,.*"parse_error":"/.test(text)
          return isRefused && raw.received.length === 0
        },
      ),
      { numRuns: 200 },
    )
    t.ok(forwarded > 10, `${route}: ${forwarded} were valid`)
  }
})

type Fixture = {
  readonly tx: string
  readonly expect: 'valid' | 'invalid'
  readonly reason?: string
  readonly facts?: { readonly first_signature: string; readonly bytes: number }
}

/** What a relay says of each kind of wrong fixture; the others have a wrong signature. */
const REASONS: readonly [reason: RegExp, said: RegExp][] = [
  [/base64/, /^transaction 0 is not canonical padded base64$/],
  [/to 1233$/, /^transaction 0 exceeds 1232 bytes$/],
  [
    /compact-u16|version byte|^zero signatures|only the signature|trailing|program index|one more signature|read-only/,
    /^transaction 0 is malformed: ./,
  ],
  // The bit that was flipped may be one of a length.
  [
    /bit of the message flipped/,
    /^transaction 0 (is malformed: .|signature verification failure$)/,
  ],
  [/./, /^transaction 0 signature verification failure$/],
]

const folder = sharedPath('transactions')
t.test(
  'real transactions at a relay, and real ones with one thing wrong',
  { skip: folder === undefined && SHARED_ABSENT },
  async t => {
    const engine = await openRawUpstream(t)
    const { edges } = await openMachine(t, { urls: [engine.url] })
    const counts = { valid: 0, invalid: 0 }
    for (const file of readdirSync(folder ?? '')) {
      const fixture: Fixture = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))
      const { tx, expect, reason = '', facts } = fixture
      for (const route of RELAY_ROUTES) {
        const body = { jsonrpc: '2.0', id: 1, method: 'sendBundle', params: [[tx], OPTIONS[route]] }
        const { json, headers } = await post(edges[0].port, route, JSON.stringify(body))
        const said = json.error?.message ?? 'taken'
        const isLong = (facts?.bytes ?? 0) > 1_232
        const wanted =
          expect === 'invalid'
            ? REASONS.find(([known]) => known.test(reason))?.[1]
            : isLong
              ? /^transaction 0 exceeds 1232 bytes$/
              : // Real ones pay other tip accounts than these.
                /^one bundle member must pay/
        t.match(said, wanted, `${file} at ${route}: ${reason || 'valid'}`)
        t.equal(json.error?.code, -32_602)
        if (expect === 'valid' && !isLong && facts !== undefined)
          t.equal(headers['x-bundle-id'], deriveBundleId([bs58.decode(facts.first_signature)]))
      }
      counts[expect]++
    }
    t.equal(engine.received.length, 0, 'none of them is forwarded')
    t.ok(counts.valid > 100 && counts.invalid > 20, JSON.stringify(counts))
  },
)

const documented = sharedPath('bundles/sendBundle-02015f69.json')
t.test(
  'the documented bundle gets the documented id, though it pays no tip here',
  { skip: documented === undefined && SHARED_ABSENT },
  async t => {
    const engine = await openRawUpstream(t)
    const { edges } = await openMachine(t, { urls: [engine.url] })
    const { request } = JSON.parse(readFileSync(documented ?? '', 'utf8'))
    const texts: string[] = request.body.params[0].slice(0, 2)
    for (const route of RELAY_ROUTES) {
      const body = { jsonrpc: '2.0', id: 1, method: 'sendBundle', params: [texts, OPTIONS[route]] }
      const { json, headers } = await post(edges[0].port, route, JSON.stringify(body))
      t.match(json.error?.message, /^one bundle member must pay/)
      t.equal(
        headers['x-bundle-id'],
        'eb06826b16e608a7568f6ab091c26b47d4a43d847dc1e6d34172e0e778e01cc1',
      )
    }
    t.equal(engine.received.length, 0)
  },
)
