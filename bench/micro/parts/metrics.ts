// What counting costs per request: a load, an add and a store; for a histogram two of them and a
// short search.
import assert from 'node:assert/strict'
import { createMetrics, formatMetrics } from '../../../src/shared/metrics.js'

const ROUNDS = 20_000_000
const metrics = createMetrics('bench')
const counter = metrics.counter('requests', { method: 'getAccountInfo', outcome: 'ok' })
const histogram = metrics.histogram('requestSeconds', { method: 'getAccountInfo' })
const seconds = Float64Array.from({ length: 1_024 }, (_, n) => 10 ** ((n % 64) / 16 - 5))

const time = (name: string, run: (round: number) => void): void => {
  for (let round = 0; round < ROUNDS / 10; round++) run(round)
  const start = process.hrtime.bigint()
  for (let round = 0; round < ROUNDS; round++) run(round)
  const ns = Number(process.hrtime.bigint() - start) / ROUNDS
  console.log(`${name.padEnd(44)} ${ns.toFixed(1).padStart(6)} ns`)
}

time('counter.add', () => counter.add(1))
time('histogram.observe, 10 µs to 100 ms', n => histogram.observe(seconds[n & 1_023] ?? 0))

const text = formatMetrics([await metrics.snapshot()])
assert.match(text, new RegExp(`_total\\{.*outcome="ok"\\} ${ROUNDS * 1.1}\n`))
assert.match(text, new RegExp(`_seconds_count\\{.*\\} ${ROUNDS * 1.1}\n`))
