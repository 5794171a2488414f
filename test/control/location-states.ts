import t from 'tap'
import { createLocationStates } from '../../src/control/location-states.js'
import type { MachineView } from '../../src/dashboard/api/shapes.js'

const catalog = {
  location: (id: string) =>
    id === 'gone'
      ? undefined
      : { id, name: id, rpcOrigin: `https://${id}.example`, wsOrigin: '', streamingTargets: [] },
}
const own = () => ({ state: 'behind', slots: { main: 100 } })

const machine = (id: string, location: string, state: string, slot?: number): MachineView => ({
  id,
  location,
  state,
  slots: slot === undefined ? [] : [{ network: 'main', slot, lag: 0 }],
  leaseMs: 0,
  revision: 0,
  version: null,
})

t.test('a machine by itself serves all locations', t => {
  const states = createLocationStates({ catalog, own, machines: undefined })
  const slots = [{ network: 'main', slot: 100, lag: null }]
  t.strictSame(states(['fra', 'gone']), [
    { id: 'fra', url: 'https://fra.example', state: 'behind', slots },
    { id: 'gone', url: null, state: 'behind', slots },
  ])
  t.end()
})

t.test('a location of a cluster is as good as its best machine', t => {
  const machines = [
    machine('fra1', 'fra', 'behind', 90),
    machine('fra2', 'fra', 'ok', 97),
    machine('nyc1', 'nyc', 'incomplete', 100),
    machine('ams1', 'ams', 'unreachable', 500),
    machine('ams2', 'ams', 'not-started'),
    machine('sin1', 'sin', 'broken', 500),
  ]
  const states = createLocationStates({ catalog, own, machines: () => machines })
  const of = (slot: number, lag: number) => [{ network: 'main', slot, lag }]
  t.match(states(['fra', 'nyc', 'ams', 'sin', 'lon']), [
    { id: 'fra', state: 'ok', slots: of(97, 3) },
    { id: 'nyc', state: 'incomplete', slots: of(100, 0) },
    { id: 'ams', state: 'unreachable', slots: [] },
    { id: 'sin', state: 'broken', slots: [] },
    { id: 'lon', state: 'unknown', slots: [] },
  ])
  t.end()
})
