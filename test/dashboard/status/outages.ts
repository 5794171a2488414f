import fc from 'fast-check'
import t from 'tap'
import type { IncidentView } from '../../../src/dashboard/api/incidents/incident-shapes.js'
import { findOutages, uptimeOf } from '../../../src/dashboard/status/outages.js'

const incident = (
  machine: string | null,
  startedAtMs: number,
  endedAtMs: number | null,
  reason = 'behind',
): IncidentView => ({
  id: `${startedAtMs}`,
  location: 'fra',
  machine,
  reasons: [reason],
  detail: '',
  startedAtMs,
  endedAtMs,
})

t.test('outages of a location', async t => {
  const cases: [
    name: string,
    incidents: IncidentView[],
    machines: (string | null)[],
    outages: [startedAtMs: number, endedAtMs: number | null][],
  ][] = [
    ['none', [], [null], []],
    ['one that lasts', [incident(null, 5, null)], [null], [[5, null]]],
    ['a restart has no length', [incident(null, 5, 5, 'process-restarted')], [null], []],
    [
      'one after the other',
      [incident(null, 7, 9), incident(null, 1, 3)],
      [null],
      [
        [1, 3],
        [7, 9],
      ],
    ],
    ['one within another', [incident(null, 1, 9), incident(null, 2, 3)], [null], [[1, 9]]],
    ['of one machine of two', [incident('a', 1, 9)], ['a', 'b'], []],
    ['of both at once', [incident('a', 1, 9), incident('b', 5, null)], ['a', 'b'], [[5, 9]]],
    ['of a machine that was removed', [incident('c', 1, 9)], ['a'], []],
    ['without a machine', [incident('a', 1, 9)], [], []],
    ['of another location', [{ ...incident(null, 1, 9), location: 'nyc' }], [null], []],
  ]
  for (const [name, incidents, machines, outages] of cases)
    t.strictSame(
      findOutages('fra', incidents, machines).map(({ startedAtMs, endedAtMs }) => [
        startedAtMs,
        endedAtMs,
      ]),
      outages,
      name,
    )
  const [both] = findOutages(
    'fra',
    [incident('a', 1, 9), incident('b', 1, 9, 'broken')],
    ['a', 'b'],
  )
  t.strictSame(both?.reasons, ['behind', 'broken'])
})

const END = 40
const anyIncident = fc
  .record({
    machine: fc.constantFrom('a', 'b', 'c'),
    startedAtMs: fc.integer({ min: 0, max: END }),
    lengthMs: fc.option(fc.integer({ min: 0, max: END })),
  })
  .map(({ machine, startedAtMs, lengthMs }) =>
    incident(machine, startedAtMs, lengthMs === null ? null : startedAtMs + lengthMs),
  )

t.test('outages and uptime are those of a count of each millisecond', async t => {
  fc.assert(
    fc.property(
      fc.array(anyIncident, { maxLength: 12 }),
      fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
      (incidents, machines) => {
        const outages = findOutages('fra', incidents, machines)
        const isIn = (atMs: number, from: number, until: number | null): boolean =>
          atMs >= from && atMs < (until ?? Infinity)
        let down = 0
        for (let atMs = 0; atMs < END; atMs++) {
          const isDown = machines.every(machine =>
            incidents.some(
              one => one.machine === machine && isIn(atMs, one.startedAtMs, one.endedAtMs),
            ),
          )
          down += Number(isDown)
          const found = outages.filter(one => isIn(atMs, one.startedAtMs, one.endedAtMs))
          if (found.length !== Number(isDown)) return false
        }
        const expected = Math.floor((1 - down / END) * 100_000) / 1_000
        return uptimeOf(outages, 0, END) === expected
      },
    ),
    { numRuns: 300 },
  )
  t.equal(uptimeOf([], 5, 5), 100)
})
