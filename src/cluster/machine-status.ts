import type { KnownMachine, MachineDirectory } from './machine-directory.js'

/** How far a machine is with one network. */
export type NetworkSlot = {
  readonly network: string
  readonly slot: number
  /** Slots behind the best machine of its location; a beat old, as both slots are. */
  readonly lag: number
}

/** A machine as people see it. */
export type MachineStatus = {
  readonly id: string
  readonly location: string
  readonly slots: readonly NetworkSlot[]
  /** What is left of its lease at least, in milliseconds; null if its beat is of unknown age. */
  readonly leaseMs: number | null
  /** Revision up to which it has confirmed all changes; null if it has never run. */
  readonly revision: number | null
  readonly version: string | null
  /**
   * The state that its `/health` reports; `unreachable` without a beat for a lease, `not-started`
   * where it has never run, `broken` where the cluster is, so that no machine answers.
   */
  readonly state: string
}

/** The best slot of each network at each location, of the machines that send beats. */
const bestSlots = (machines: readonly KnownMachine[]) => {
  const best = new Map<string, number>()
  const keyOf = (location: string, network: string): string => `${location} ${network}`
  for (const { beat, isUnreachable, location } of machines)
    for (const [network, slot] of Object.entries(isUnreachable ? {} : (beat?.slots ?? {}))) {
      const key = keyOf(location, network)
      best.set(key, Math.max(slot, best.get(key) ?? 0))
    }
  return (location: string, network: string): number => best.get(keyOf(location, network)) ?? 0
}

const leaseLeft = (
  { beat, beatSeenMs, isUnreachable }: KnownMachine,
  nowMs: number,
): number | null => {
  if (beat === undefined || isUnreachable) return 0
  if (beatSeenMs === undefined) return null
  return Math.max(0, Math.round((beat.leaseMs ?? 0) - (nowMs - beatSeenMs)))
}

const stateOf = ({ beat, isUnreachable }: KnownMachine, isBroken: boolean): string => {
  if (beat === undefined) return 'not-started'
  if (isBroken) return 'broken'
  return isUnreachable ? 'unreachable' : (beat.health ?? 'unknown')
}

/** `nowMs` is of the boot clock. */
export const statusesOf = (
  directory: Pick<MachineDirectory, 'list' | 'isBroken'>,
  nowMs: number,
): readonly MachineStatus[] => {
  const { isBroken } = directory
  const machines = directory.list()
  const best = bestSlots(machines)
  return machines.map(machine => {
    const { beat, id, location } = machine
    return {
      id,
      location,
      slots: Object.entries(beat?.slots ?? {}).map(([network, slot]) => ({
        network,
        slot,
        lag: Math.max(0, best(location, network) - slot),
      })),
      leaseMs: leaseLeft(machine, nowMs),
      revision: beat?.applied ?? null,
      version: beat?.version ?? null,
      state: stateOf(machine, isBroken),
    }
  })
}
