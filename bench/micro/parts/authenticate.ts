// The cost of a request's token. From memory: one load of the version, one Map look-up (43
// characters are hashed), three comparisons. Looked up: CRC of 38 characters, SHA-256, two LMDB
// reads, two small decodes.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthenticate, isRefusal } from '../../../src/access/authenticate.js'
import { createTokenManager } from '../../../src/access/tokens/token-manager.js'
import { createAccessManager } from '../../../src/access/accesses/access-manager.js'
import { createSealing } from '../../../src/access/tokens/sealing.js'
import { createLocalJournal } from '../../../src/access/journal/local-journal.js'
import { openControlStore } from '../../../src/access/store/control-store.js'
import { openReader, openWriter } from '../../../src/access/store/store.js'
import { createToken } from '../../../src/access/tokens/location-token.js'

const TOKENS = 1_000
const ROUNDS = 1_000_000

const dir = mkdtempSync(join(tmpdir(), 'slotline-bench-'))
const store = await openWriter(dir)
const ownStore = openControlStore(dir)
const sealing = createSealing(join(dir, 'sealing.key'), ownStore, randomBytes)
const journal = createLocalJournal({ store, randomBytes })
const options = { store, journal, sealing, randomBytes, now: Date.now }
const accessManager = createAccessManager(options)
const tokenManager = createTokenManager(options)
const limits = {
  requestsPerSecondMax: 1,
  requestsBurstMax: 1,
  requestsInFlightMax: 1,
  socketsMax: 1,
  subscriptionsPerSocketMax: 1,
}
const newAccess = {
  subject: 'bench',
  kind: 'pass' as const,
  product: 'node',
  networks: ['main'],
  locations: ['fra', 'nyc'],
  limits,
  validFromMs: 0,
  validUntilMs: null,
}
const accesses = await Promise.all(
  Array.from({ length: TOKENS }, () => accessManager.grant(newAccess)),
)
const scopes = accesses.map(({ accessId }) => ({ accessId, network: 'main', location: 'fra' }))
const generated = await Promise.all(scopes.map(scope => tokenManager.generate(scope)))
// From a body of bytes, as the server has it: a text whose hash is not known yet.
const bytes = generated.map(({ token }) => Buffer.from(token.reveal()))
await store.close()
await ownStore.close()

const reader = await openReader(dir)
const cells = new Float64Array(new SharedArrayBuffer(64))
const authenticate = createAuthenticate(reader, () => cells[0] ?? 0)
const PEER = { address: '192.0.2.1' }
const nowMs = Date.now()
const at = <T>(list: readonly T[], index: number): T => {
  const item = list[index % list.length]
  assert(item !== undefined)
  return item
}

for (const [index, { location }] of scopes.entries()) {
  const answer = authenticate(at(bytes, index).toString('latin1'), location, PEER, nowMs)
  assert(!isRefusal(answer) && answer.tokenId === at(generated, index).tokenId)
}
const unknown = Array.from({ length: TOKENS }, () => createToken(randomBytes))
assert(unknown.every(token => isRefusal(authenticate(token, 'fra', PEER, nowMs))))

const time = (name: string, rounds: number, run: (round: number) => void): void => {
  for (let round = 0; round < rounds / 10; round++) run(round)
  const start = process.hrtime.bigint()
  for (let round = 0; round < rounds; round++) run(round)
  const ns = Number(process.hrtime.bigint() - start) / rounds
  console.log(`${name.padEnd(44)} ${ns.toFixed(0).padStart(6)} ns`)
}

let text = ''
time('make the text of a token (not counted)', ROUNDS, n => {
  text = at(bytes, n).toString('latin1')
})
time('known token, with its text made', ROUNDS, n => {
  authenticate(at(bytes, n).toString('latin1'), 'fra', PEER, nowMs)
})
time('garbage', ROUNDS, n => {
  authenticate(at(bytes, n).toString('latin1', 0, 41), 'fra', PEER, nowMs)
})
time('unknown token', ROUNDS / 10, n => {
  authenticate(at(unknown, n), 'fra', PEER, nowMs)
})
time('token of another location', ROUNDS / 10, n => {
  authenticate(at(bytes, n).toString('latin1'), 'nyc', PEER, nowMs)
})
time('after a change: looked up again', ROUNDS / 20, n => {
  cells[0] = n + 1
  authenticate(at(bytes, n).toString('latin1'), 'fra', PEER, nowMs)
})
assert(text.length === 42)
await reader.close()
rmSync(dir, { recursive: true })
