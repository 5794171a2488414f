// Processor time of the recorder, where 10,000 scopes settle 12 rows each in a minute: the share of
// a core that it takes. Readers ask meanwhile.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLiveCells } from '../../../src/usage/live-cells.js'
import { defaults } from '../../../src/usage/options.js'
import { MINUTE_MS } from '../../../src/usage/scope.js'
import { openUsageReader, UsageWriter } from '../../../src/usage/store.js'

const SCOPES = 10_000
const METHODS = 11
const ROUNDS = 5
const TARGET_PERCENT = 2

const dir = mkdtempSync(join(tmpdir(), 'slotline-usage-'))
const onFault = (fault: unknown): never => {
  throw fault
}
const options = { ...defaults, slotsMax: 2 ** 18 }
const usage = openLiveCells(dir, 0, { options, onFault })
const writer = new UsageWriter(dir)
const ask = openUsageReader(dir)
let nowMs = Date.now()

const countMinute = (): void => {
  for (let nth = 0; nth < SCOPES; nth++) {
    const scope = { accessId: `acc_${nth}`, network: 'main', location: 'fra' }
    const meter = usage.meterOf(scope)
    meter.addRequests(METHODS, nowMs)
    for (let method = 0; method < METHODS; method++)
      for (let call = 0; call < 4; call++)
        meter.addCall(`method${method}`, { elapsedMs: 0.1 * (call + nth) }, nowMs)
  }
  nowMs += MINUTE_MS
  usage.sweep(nowMs)
}

/** Processor time in ms, and the longest wait of a reader that asks one question after another. */
const time = async (hasReader: boolean): Promise<readonly [cpuMs: number, longestMs: number]> => {
  let isRecording = true
  let longestMs = 0
  const read = async (): Promise<void> => {
    while (hasReader && isRecording) {
      const startMs = performance.now()
      await ask('minutes', ['acc_7', 'main', 'fra', 0, 2 ** 31])
      longestMs = Math.max(longestMs, performance.now() - startMs)
    }
  }
  const start = process.cpuUsage()
  const reading = read()
  await writer.record()
  isRecording = false
  const { user, system } = process.cpuUsage(start)
  await reading
  return [(user + system) / 1_000, longestMs]
}

const shares: number[] = []
for (let round = 0; round <= ROUNDS; round++) {
  countMinute()
  const [cpuMs] = await time(false)
  // The first round makes every row of the methods.
  if (round > 0) shares.push((cpuMs / MINUTE_MS) * 100)
}
const most = Math.max(...shares)
const verdict = most <= TARGET_PERCENT ? 'met' : 'MISSED'
console.log(
  `${SCOPES} scopes x ${METHODS + 1} rows a minute: ${shares.map(share => share.toFixed(2)).join(', ')} % ` +
    `of a core (target ≤ ${TARGET_PERCENT}: ${verdict})`,
)
countMinute()
const [, longestMs] = await time(true)
console.log(`longest answer to a reader meanwhile: ${longestMs.toFixed(1)} ms`)

const [first] = await ask('methods', ['acc_7', 'main', 'fra', 0, 30_000])
assert.equal(first?.requests, 4 * (ROUNDS + 2))
rmSync(dir, { recursive: true })
