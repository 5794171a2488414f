import type { MachineStatus } from '../../cluster/machine-status.js'

const HEADER = ['machine', 'location', 'slot', 'lag', 'lease', 'revision', 'version', 'state']

const formatLease = (leaseMs: number | null): string =>
  leaseMs === null ? '?' : `${(leaseMs / 1_000).toFixed(1)} s`

/** The networks of a machine are told apart where it has several. */
const formatSlots = (
  { slots }: MachineStatus,
  valueOf: (slot: MachineStatus['slots'][number]) => number,
): string => {
  const values = slots.map(slot =>
    slots.length === 1 ? String(valueOf(slot)) : `${slot.network}=${valueOf(slot)}`,
  )
  return values.length === 0 ? '-' : values.join(' ')
}

const toRow = (machine: MachineStatus): readonly string[] => [
  machine.id,
  machine.location,
  formatSlots(machine, ({ slot }) => slot),
  formatSlots(machine, ({ lag }) => lag),
  formatLease(machine.leaseMs),
  String(machine.revision ?? '-'),
  machine.version ?? '-',
  machine.state,
]

/** A table for a terminal. */
export const formatMachines = (machines: readonly MachineStatus[]): string => {
  const rows = [HEADER, ...machines.map(toRow)]
  const widths = HEADER.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const format = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return `${rows.map(format).join('\n')}\n`
}
