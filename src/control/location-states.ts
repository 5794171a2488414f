import type { LocationView, MachineView } from '../dashboard/api/shapes.js'
import type { Catalog } from '../dashboard/api/catalog.js'

/** What this machine says of itself. */
export type OwnState = { readonly state: string; readonly slots: Readonly<Record<string, number>> }

/** States of machines, the best one first: a location is as good as its best machine. */
const STATES = [
  'ok',
  'behind',
  'incomplete',
  'unknown',
  'draining',
  'lease-expired',
  'broken',
  'unreachable',
  'not-started',
]

/** States of machines whose slots are old. */
const SILENT: ReadonlySet<string> = new Set(['broken', 'unreachable'])

/** The best slot of each network on these machines. */
const bestSlots = (machines: readonly MachineView[]): ReadonlyMap<string, number> => {
  const best = new Map<string, number>()
  for (const { network, slot } of machines.flatMap(({ slots }) => slots))
    best.set(network, Math.max(slot, best.get(network) ?? 0))
  return best
}

type UrlOf = (locationId: string) => string | null

const toViews = (
  ids: readonly string[],
  machines: readonly MachineView[],
  urlOf: UrlOf,
): readonly LocationView[] => {
  const reachable = machines.filter(({ state }) => !SILENT.has(state))
  const best = bestSlots(reachable)
  return ids.map(id => {
    const states = new Set(
      machines.filter(({ location }) => location === id).map(({ state }) => state),
    )
    const slots = bestSlots(reachable.filter(({ location }) => location === id))
    return {
      id,
      url: urlOf(id),
      state: STATES.find(state => states.has(state)) ?? 'unknown',
      slots: Array.from(slots, ([network, slot]) => ({
        network,
        slot,
        lag: (best.get(network) ?? slot) - slot,
      })),
    }
  })
}

/**
 * Live states of locations: of a cluster from the beats of its machines, else from this machine,
 * which serves all of them.
 */
export const createLocationStates = (parts: {
  readonly catalog: Pick<Catalog, 'location'>
  readonly own: () => OwnState
  readonly machines: (() => readonly MachineView[]) | undefined
}): ((ids: readonly string[]) => readonly LocationView[]) => {
  const { catalog, machines, own } = parts
  const urlOf: UrlOf = id => catalog.location(id)?.rpcOrigin ?? null
  return ids => {
    if (machines !== undefined) return toViews(ids, machines(), urlOf)
    const { state, slots } = own()
    const shown = Object.entries(slots).map(([network, slot]) => ({ network, slot, lag: null }))
    return ids.map(id => ({ id, url: urlOf(id), state, slots: shown }))
  }
}
