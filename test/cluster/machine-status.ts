import t from 'tap'
import type { KnownMachine } from '../../src/cluster/machine-directory.js'
import { statusesOf, type MachineStatus } from '../../src/cluster/machine-status.js'

const NOW_MS = 10_000

const machine = (
  id: string,
  slot: number | undefined,
  more: Partial<KnownMachine> = {},
): KnownMachine => ({
  id,
  location: id.slice(0, 3),
  beat: {
    instance: 'i',
    applied: 5,
    version: '1.0.0',
    health: 'ok',
    leaseMs: 4_000,
    ...(slot === undefined ? {} : { slots: { main: slot } }),
  },
  beatSeenMs: NOW_MS - 1_000,
  isUnreachable: false,
  ...more,
})

const statuses = (machines: readonly KnownMachine[], isBroken = false): readonly MachineStatus[] =>
  statusesOf({ list: () => machines, isBroken }, NOW_MS)

t.test('lag is counted from the best reachable machine of the location', t => {
  const found = statuses([
    machine('fra-1', 100),
    machine('fra-2', 93),
    machine('fra-3', 200, { isUnreachable: true }),
    machine('fra-4', undefined),
    machine('nyc-1', 150),
  ])
  t.strictSame(
    found.map(({ id, slots }) => [id, slots[0]?.slot, slots[0]?.lag]),
    [
      ['fra-1', 100, 0],
      ['fra-2', 93, 7],
      ['fra-3', 200, 0],
      ['fra-4', undefined, undefined],
      ['nyc-1', 150, 0],
    ],
  )
  t.end()
})

t.test('a lease is shown by what its machine said, less the time since', t => {
  const cases: [
    name: string,
    more: Partial<KnownMachine>,
    leaseMs: number | null,
    state: string,
  ][] = [
    ['heard', {}, 3_000, 'ok'],
    ['of unknown age', { beatSeenMs: undefined }, null, 'ok'],
    ['late', { beatSeenMs: NOW_MS - 5_000 }, 0, 'ok'],
    ['unreachable', { isUnreachable: true }, 0, 'unreachable'],
    [
      'never run',
      { beat: undefined, beatSeenMs: undefined, isUnreachable: true },
      0,
      'not-started',
    ],
    ['of an older version', { beat: { instance: 'i', applied: 1 } }, 0, 'unknown'],
  ]
  for (const [name, more, leaseMs, state] of cases) {
    const [status] = statuses([machine('fra-1', 1, more)])
    t.match(status, { leaseMs, state }, name)
    const [broken] = statuses([machine('fra-1', 1, more)], true)
    t.equal(broken?.state, state === 'not-started' ? state : 'broken', `${name}, broken`)
  }
  t.end()
})
