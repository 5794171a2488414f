// What a request pays for being let in: authentication, limits and counters together, as the routes
// of an edge do it, compared with the same without limits and counters, and with an empty call.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthenticate } from '../../../src/access/authenticate.js'
import { createTokenManager } from '../../../src/access/tokens/token-manager.js'
import { createAccessManager } from '../../../src/access/accesses/access-manager.js'
import { UsageLimiter } from '../../../src/access/limiter/usage-limiter.js'
import { openLimitTable } from '../../../src/access/limiter/limit-table.js'
import { createSealing } from '../../../src/access/tokens/sealing.js'
import { createLocalJournal } from '../../../src/access/journal/local-journal.js'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { openReader, openWriter } from '../../../src/access/store/store.js'
import { openLiveCells } from '../../../src/usage/live-cells.js'
import type { TokenScope } from '../../../src/usage/scope.js'
import { openUsageReader } from '../../../src/usage/store.js'
import { createAdmit, createAcquire, pathToken } from '../../../src/edge/admission.js'
import { isReply, type Reply, type Request } from '../../../src/shared/http.js'

/** A getAccountInfo costs the edge about 9 µs: admission may take this share of it. */
const TARGET_NS = 1_500
const ROUNDS = 500_000
const EDGES = 4
const TOKENS = 64

const dir = mkdtempSync(join(tmpdir(), 'slotline-bench-'))
const store = await openWriter(dir)
const ownStore = openControlStore(dir)
const sealing = createSealing(join(dir, 'sealing.key'), ownStore, randomBytes)
const journal = createLocalJournal({ store, randomBytes })
const control = { store, journal, sealing, randomBytes, now: Date.now }
const accessManager = createAccessManager(control)
const tokenManager = createTokenManager(control)
const many = 100_000_000
const limits = {
  requestsPerSecondMax: many,
  requestsBurstMax: many,
  requestsInFlightMax: many,
  socketsMax: many,
  subscriptionsPerSocketMax: many,
}
const paths: Buffer[] = []
const places: TokenScope[] = []
for (let nth = 0; nth < TOKENS; nth++) {
  const { accessId } = await accessManager.grant({
    subject: 'bench',
    kind: 'pass',
    product: 'node',
    networks: ['main'],
    locations: ['fra'],
    limits,
    validFromMs: 0,
    validUntilMs: null,
  })
  const place = { accessId, network: 'main', location: 'fra' }
  const made = await tokenManager.generate(place)
  paths.push(Buffer.from(`/${made.token.reveal()}`))
  places.push(place)
}
await store.close()
await ownStore.close()

const reader = await openReader(dir)
const versions = new Float64Array(new SharedArrayBuffer(64))
const onFault = (fault: unknown): never => {
  throw fault
}
const parts = {
  location: 'fra',
  authenticate: createAuthenticate(reader, () => versions[0] ?? 0),
  limiter: new UsageLimiter({
    table: openLimitTable(dir, EDGES),
    edgeIndex: 0,
    usage: openLiveCells(dir, 0, { onFault }),
  }),
  version: () => versions[0] ?? 0,
  now: Date.now,
  onRefusal: () => {},
}
const admit = createAdmit(parts)
const acquire = createAcquire(parts)

/** As the server gives it: the path is a new text each time, whose hash is not known yet. */
const requestOf = (nth: number): Request => ({
  method: 'POST',
  path: paths[nth % paths.length]?.toString('latin1') ?? '',
  query: '',
  header: () => '',
  address: '192.0.2.1',
  id: '',
  ownsBody: false,
})

const bare = (request: Request): boolean => pathToken(request) !== ''
const authenticated = (request: Request): boolean =>
  !isReply(admit(pathToken(request), request, parts.now()))
const admitted = (request: Request): boolean => {
  const grant = admit(pathToken(request), request)
  if (isReply(grant)) return false
  const principal = parts.limiter.principalOf(grant)
  const refused: Reply | undefined = acquire(principal, request)
  if (refused !== undefined) return false
  parts.limiter.release(principal, 1)
  return true
}

const time = (run: (request: Request) => boolean, stride: number): number => {
  const start = process.cpuUsage()
  for (let round = 0; round < ROUNDS; round++) assert(run(requestOf(round * stride)))
  const { user, system } = process.cpuUsage(start)
  return ((user + system) * 1_000) / ROUNDS
}

for (const [stride, clients] of [
  [0, 'one client'],
  [1, `${TOKENS} clients in turn`],
] as const) {
  const runs = [bare, authenticated, admitted].map(run => ({ run, times: [] as number[] }))
  for (let round = 0; round < 6; round++)
    for (const { run, times } of runs) {
      const ns = time(run, stride)
      // The first round warms up.
      if (round > 0) times.push(ns)
    }
  const [none = NaN, known = NaN, all = NaN] = runs.map(({ times }) => Math.min(...times))
  const print = (name: string, ns: number): void =>
    console.log(`${`${name}, ${clients}`.padEnd(60)} ${ns.toFixed(0).padStart(6)} ns`)
  print('authentication', known - none)
  print('limits and counters', all - known)
  const verdict = all - none <= TARGET_NS ? 'met' : 'MISSED'
  print(`all together (target ≤ ${TARGET_NS}: ${verdict})`, all - none)
}

let counted = 0
const ask = openUsageReader(dir)
for (const { accessId, network, location } of places)
  for (const { requests } of await ask('minutes', [accessId, network, location, 0, 2 ** 31]))
    counted += requests
assert.equal(counted, 2 * 6 * ROUNDS)
await reader.close()
rmSync(dir, { recursive: true })
