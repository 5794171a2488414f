import fc from 'fast-check'
import t from 'tap'
import { LagWatch, witnessedSlot } from '../../src/cluster/lag-watch.js'
import type { KnownMachine } from '../../src/cluster/machine-directory.js'
import { createLog } from '../../src/shared/log.js'

const LAG_MS = 1_000
const BEAT_MS = 500
const OPTIONS = { beatMs: BEAT_MS, lagMaxMs: 1_000, lagMs: LAG_MS }
const OWN = 100
const START_MS = 10_000

type Stated = { readonly health?: string; readonly seenMs?: number | undefined }

const machine = (
  id: string,
  slot: number,
  { health = 'ok', ...rest }: Stated = {},
): KnownMachine => ({
  id,
  location: id.slice(0, 3),
  beat: { instance: 'i', applied: 1, health, slots: { main: slot, dev: 1 } },
  beatSeenMs: 'seenMs' in rest ? rest.seenMs : Infinity,
  isUnreachable: false,
})

const openWatch = () => {
  const state = {
    nowMs: START_MS,
    machines: [] as readonly KnownMachine[],
    tips: [OWN, 1] as (number | undefined)[],
    slotMs: 200 as number | undefined,
    lagging: [undefined, undefined] as (boolean | undefined)[],
    lines: [] as string[],
  }
  const watch = new LagWatch({
    directory: { list: () => state.machines },
    machine: 'fra-1',
    location: 'fra',
    networks: ['main', 'dev'],
    options: OPTIONS,
    tip: network => state.tips[network],
    slotMs: () => state.slotMs,
    setLagging: (network, isLagging) => {
      state.lagging[network] = isLagging
    },
    bootMs: () => state.nowMs,
    logger: createLog('lag', line => state.lines.push(line)),
  })
  return { state, watch }
}

/** Two other machines at this slot, of which one serves the location. */
const aheadBy = (slots: number): readonly KnownMachine[] => [
  machine('fra-2', OWN + slots),
  machine('nyc-1', OWN + slots),
]

t.test('a tip that stays too far behind is lagging', t => {
  const { state, watch } = openWatch()
  state.machines = [machine('fra-1', OWN), ...aheadBy(5)]
  watch.check()
  t.strictSame([state.lagging, watch.lag(0)], [[false, false], 5], 'not more than the bound')
  state.machines = aheadBy(6)
  watch.check()
  state.nowMs += LAG_MS - 1
  watch.check()
  t.strictSame(state.lagging, [false, false], 'not for long enough')
  state.nowMs += 1
  watch.check()
  watch.check()
  t.strictSame(state.lagging, [true, false], 'of one network')
  t.match(state.lines, [/"network":"main","slot":100,"best":106,.*behind the other machines/])
  t.equal(state.lines.length, 1)

  state.tips[0] = OWN + 1
  watch.check()
  t.strictSame(state.lagging, [false, false], 'at once when it keeps up')
  t.match(state.lines[1], /keeps up again/)
  state.tips[0] = OWN
  watch.check()
  state.nowMs += LAG_MS - 1
  watch.check()
  t.strictSame(state.lagging, [false, false], 'the time begins again')
  t.end()
})

t.test('the same slots are more time on a slower chain', t => {
  const cases: [slotMs: number | undefined, slots: number, lagMs: number, isLagging: boolean][] = [
    [400, 2, 800, false],
    [400, 3, 1_200, true],
    [200, 5, 1_000, false],
    [200, 6, 1_200, true],
    [150, 6, 900, false],
    [150, 7, 1_050, true],
    [50, 20, 1_000, false],
    [undefined, 6, 1_200, true],
  ]
  for (const [slotMs, slots, lagMs, isLagging] of cases) {
    const { state, watch } = openWatch()
    state.slotMs = slotMs
    state.machines = aheadBy(slots)
    watch.check()
    state.nowMs += LAG_MS
    watch.check()
    const name = `${slots} slots of ${slotMs ?? 'unknown'} ms`
    t.strictSame([watch.lagMs(0), state.lagging[0]], [lagMs, isLagging], name)
  }
  t.end()
})

t.test('without two machines that say so a machine is not behind', t => {
  const far = machine('nyc-1', OWN + 50)
  const cases: [name: string, machines: readonly KnownMachine[]][] = [
    ['none', []],
    ['itself', [machine('fra-1', OWN + 50), far]],
    ['one alone', [machine('fra-2', OWN + 50)]],
    ['one, and a second that is not ahead', [machine('fra-2', OWN + 50), machine('nyc-1', OWN)]],
    ['of other locations', [far, machine('nyc-2', OWN + 50)]],
    ['without a beat for three', [machine('fra-2', OWN + 50, { seenMs: START_MS }), far]],
    ['of unknown age', [machine('fra-2', OWN + 50, { seenMs: undefined }), far]],
    ['without a lease', [machine('fra-2', OWN + 50, { health: 'lease-expired' }), far]],
    ['behind', [machine('fra-2', OWN + 50, { health: 'behind' }), far]],
    ['never run', [{ ...machine('fra-2', 0), beat: undefined }, far]],
    ['without slots', [{ ...machine('fra-2', 0), beat: { instance: 'i', applied: 1 } }, far]],
  ]
  const laggingAmong = (machines: readonly KnownMachine[], tips?: undefined[]) => {
    const { state, watch } = openWatch()
    state.machines = machines
    if (tips !== undefined) state.tips = tips
    state.nowMs += 3 * BEAT_MS
    watch.check()
    state.nowMs += LAG_MS
    watch.check()
    return state.lagging
  }
  for (const [name, machines] of cases) t.strictSame(laggingAmong(machines), [false, false], name)
  const tips = [undefined, undefined]
  t.strictSame(laggingAmong(aheadBy(50), tips), [false, false], 'without a block it is unknown')
  t.strictSame(laggingAmong(aheadBy(50)), [true, false], 'these cases can fail')
  t.end()
})

t.test('what an earlier follower found stands until it is found otherwise', t => {
  const { state, watch } = openWatch()
  state.lagging = [true, true]
  state.machines = aheadBy(6)
  watch.check()
  t.strictSame(state.lagging, [true, false])
  t.end()
})

const slot = fc.integer({ min: 1, max: 50 })
const one = fc.record({ slot, location: fc.constantFrom('fra', 'nyc') })

t.test('no machine that lies changes what is true of the others', t => {
  fc.assert(
    fc.property(
      fc.array(one, { minLength: 1, maxLength: 6 }),
      fc.record({ ...{ location: fc.constantFrom('fra', 'nyc') }, slot: fc.nat() }),
      fc.constantFrom('ok', 'behind', ''),
      (found, lie, health) => {
        const honest = found.map((it, index) => machine(`${it.location}-${index}`, it.slot))
        const liar = machine(`${lie.location}-liar`, lie.slot, { health })
        for (const own of honest) {
          const others = honest.filter(other => other !== own)
          const slots = others.map(({ beat }) => beat?.slots?.['main'] ?? 0)
          const seen = witnessedSlot([...others, liar], own.location, 'main')
          if (seen > Math.max(0, ...slots)) return false
        }
        return true
      },
    ),
  )
  t.end()
})

t.test('a location keeps its most current machine', t => {
  fc.assert(
    fc.property(fc.array(one, { minLength: 1, maxLength: 6 }), found => {
      const machines = found.map((it, index) => machine(`${it.location}-${index}`, it.slot))
      for (const location of new Set(found.map(it => it.location))) {
        const here = machines.filter(other => other.location === location)
        const leaving = here.filter(own => {
          const others = machines.filter(other => other !== own)
          return witnessedSlot(others, location, 'main') > (own.beat?.slots?.['main'] ?? 0)
        })
        if (leaving.length === here.length) return false
      }
      return true
    }),
  )
  t.end()
})
