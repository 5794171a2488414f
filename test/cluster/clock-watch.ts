import t from 'tap'
import { ClockWatch } from '../../src/cluster/clock-watch.js'
import type { KnownMachine } from '../../src/cluster/machine-directory.js'
import { createLog } from '../../src/shared/log.js'

const HOUR_MS = 3_600_000
const NOW_MS = 1_700_000_000_000
const BOOT_MS = 50_000
/** Age of the beats. */
const AGE_MS = 400

const machine = (id: string, aheadMs: number, rest: Partial<KnownMachine> = {}): KnownMachine => ({
  id,
  location: 'fra',
  beat: { instance: 'i', applied: 1, timeMs: NOW_MS - AGE_MS + aheadMs },
  beatSeenMs: BOOT_MS - AGE_MS,
  isUnreachable: false,
  ...rest,
})

t.test('clocks that differ by more than the bound are reported once', t => {
  let machines: readonly KnownMachine[] = []
  const lines: string[] = []
  const watch = new ClockWatch({
    directory: { list: () => machines },
    machine: 'fra-1',
    options: { clockSkewMs: 10_000 },
    now: () => NOW_MS,
    bootMs: () => BOOT_MS,
    logger: createLog('clock', line => lines.push(line)),
  })
  const check = (...found: readonly KnownMachine[]): readonly string[] => {
    machines = found
    watch.check()
    return watch.problems
  }
  const cases: [name: string, found: KnownMachine, problems: readonly string[]][] = [
    ['equal', machine('fra-2', 0), []],
    ['at the bound', machine('fra-2', 10_000), []],
    ['itself', machine('fra-1', HOUR_MS), []],
    ['of unknown age', machine('fra-2', HOUR_MS, { beatSeenMs: undefined }), []],
    ['unreachable', machine('fra-2', HOUR_MS, { isUnreachable: true }), []],
    ['of another version', machine('fra-2', 0, { beat: { instance: 'i', applied: 1 } }), []],
    [
      'ahead',
      machine('fra-2', 2 * HOUR_MS),
      ['the clock of fra-2 is 7200 s ahead of that of this machine: synchronise both (NTP)'],
    ],
    [
      'behind',
      machine('fra-3', -11_000),
      ['the clock of fra-3 is 11 s behind that of this machine: synchronise both (NTP)'],
    ],
  ]
  for (const [name, found, problems] of cases) t.strictSame(check(found), problems, name)
  lines.length = 0
  for (const aheadMs of [HOUR_MS, HOUR_MS, 0, HOUR_MS]) check(machine('fra-2', aheadMs))
  t.equal(lines.length, 2, 'at each beginning')
  t.strictSame(check(), [], 'a machine that was removed')
  t.end()
})
