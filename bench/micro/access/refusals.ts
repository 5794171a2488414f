// Whether the time of a refusal tells anything of a token: unknown, revoked, of another location,
// or known but not from this address. All of them in turn, so that whatever slows the machine slows
// all.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthenticate } from '../../../src/access/authenticate.js'
import { createTokenManager } from '../../../src/access/tokens/token-manager.js'
import { createAccessManager } from '../../../src/access/accesses/access-manager.js'
import { createSealing } from '../../../src/access/tokens/sealing.js'
import { openReader, openWriter } from '../../../src/access/store/store.js'
import { createToken } from '../../../src/access/tokens/location-token.js'
import { openUsage } from '../../../src/access/usage/usage.js'
import { createRefusalMeter } from '../../../src/access/usage/refusal-meter.js'

/** Medians may differ by this much (facts of attack tests, row 17). */
const DIFFERENCE_MAX = 0.05
const TOKENS = 1_000
const ROUNDS = 40_000
const OWNER = '9.9.9.9'

const dir = mkdtempSync(join(tmpdir(), 'slotline-bench-'))
const store = await openWriter(dir)
const sealing = createSealing(join(dir, 'sealing.key'), store, randomBytes)
const control = { store, sealing, randomBytes, now: Date.now }
const accessManager = createAccessManager(control)
const tokenManager = createTokenManager(control)
const limits = {
  requestsPerSecondMax: 1_000,
  requestsBurstMax: 2_000,
  requestsInFlightMax: 64,
  socketsMax: 16,
  subscriptionsPerSocketMax: 100,
}
const KINDS = ['unknown', 'revoked', 'another location', 'another address', 'ended'] as const
type Kind = (typeof KINDS)[number]
const tokens = new Map<Kind, Buffer[]>(KINDS.map(kind => [kind, []]))
for (let nth = 0; nth < TOKENS; nth++) {
  const kind = KINDS[nth % KINDS.length] ?? 'unknown'
  const location = kind === 'another location' ? 'nyc' : 'fra'
  const { accessId } = await accessManager.grant({
    subject: `person ${nth}`,
    kind: 'pass',
    product: 'node-access',
    networks: ['main'],
    locations: [location],
    limits,
    validFromMs: 0,
    validUntilMs: null,
  })
  const scope = { accessId, network: 'main', location }
  const made = await tokenManager.generate(scope)
  if (kind === 'revoked') await tokenManager.revoke(scope)
  if (kind === 'another address') await tokenManager.restrict(scope, OWNER)
  if (kind === 'ended') await accessManager.end(accessId)
  const text = kind === 'unknown' ? createToken(randomBytes) : made.token.reveal()
  tokens.get(kind)?.push(Buffer.from(text))
}
await store.close()

const reader = await openReader(dir)
const onFault = (fault: unknown): never => {
  throw fault
}
const meter = createRefusalMeter(openUsage(dir, 0, { onFault }))
const authenticate = createAuthenticate(reader, () => 1, undefined, meter.onRefused)

// Their owner uses them meanwhile: an edge knows them already.
for (const text of tokens.get('another address') ?? [])
  assert(typeof authenticate(text.toString(), 'fra', { address: OWNER }, Date.now()) === 'object')

/** As the server has it: the text of an address is made when it is first read. */
class Client {
  private known: string | undefined
  get address(): string {
    return (this.known ??= Array.from(CLIENT_BYTES, byte => byte).join('.'))
  }
}
const CLIENT_BYTES = randomBytes(4)

const nanos = new Map<Kind, Float64Array>(KINDS.map(kind => [kind, new Float64Array(ROUNDS)]))
for (let round = -2_000; round < ROUNDS; round++)
  for (let turn = 0; turn < KINDS.length; turn++) {
    const kind = KINDS[(turn + Math.abs(round)) % KINDS.length] ?? 'unknown'
    const mine = tokens.get(kind) ?? []
    const text = mine[Math.abs(round) % mine.length]?.toString('latin1') ?? ''
    const nowMs = Date.now()
    const peer = new Client()
    const start = process.hrtime.bigint()
    const answer = authenticate(text, 'fra', peer, nowMs)
    const ns = Number(process.hrtime.bigint() - start)
    assert(typeof answer === 'string')
    const into = nanos.get(kind)
    if (round >= 0 && into !== undefined) into[round] = ns
  }

const medians = KINDS.map(kind => nanos.get(kind)?.toSorted()[ROUNDS / 2] ?? NaN)
const all = medians.reduce((sum, ns) => sum + ns, 0) / medians.length
for (const [index, kind] of KINDS.entries())
  console.log(
    `${`refused: ${kind}`.padEnd(60)} ${(medians[index] ?? NaN).toFixed(0).padStart(6)} ns  ` +
      `${(((medians[index] ?? NaN) / all - 1) * 100).toFixed(1).padStart(5)} %`,
  )
const difference = Math.max(...medians) / Math.min(...medians) - 1
console.log(`${'largest difference (target ≤ 5 %)'.padEnd(60)} ${(difference * 100).toFixed(1)} %`)
meter.flush()
assert(difference <= DIFFERENCE_MAX, 'the time of a refusal tells what the token is')
await reader.close()
rmSync(dir, { recursive: true })
