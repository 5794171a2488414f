import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'
import { HEALTHS } from '../../lib/healths.js'
import { formatCount } from '../../lib/format.js'
import { locationName } from '../../lib/submission-text.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { Access, Machine } from '../../lib/wire.js'

/** How often the machines are loaded again; each of them reports once a second. */
const REFRESH_MS = 2_000

const formatLease = (leaseMs: number | null): string =>
  leaseMs === null ? '–' : `${(leaseMs / 1_000).toFixed(1)} s`

const COLUMNS = ['State', 'Slot', 'Lag', 'Lease left', 'Revision', 'Version'] as const

type RowProps = {
  readonly machine: Machine
  readonly network: string
  readonly locations: Access['locations']
}

const Row = ({ machine, network, locations }: RowProps) => {
  const [tone, name] = HEALTHS[machine.state] ?? ['is-none', 'Unknown']
  const at = machine.slots.find(slot => slot.network === network)
  const cells = [
    <span class={`badge ${tone}`}>{name}</span>,
    at === undefined ? '–' : formatCount(at.slot),
    at === undefined ? '–' : formatCount(at.lag),
    formatLease(machine.leaseMs),
    machine.revision === null ? '–' : formatCount(machine.revision),
    machine.version ?? '–',
  ]
  return (
    <FigureRow
      name={
        <>
          <code>{machine.id}</code>
          <span class="sub">{locationName(machine.location, locations)}</span>
        </>
      }
      columns={COLUMNS}
      cells={cells}
    />
  )
}

/** The machines of the locations of an access. */
export const MachinesTab = ({
  access,
  network,
}: {
  readonly access: Access
  readonly network: { readonly id: string; readonly name: string }
}) => {
  const { api } = useServices()
  const { value, failure, reload } = useLoaded(
    access.accessId,
    () => api.machines(access.accessId),
    REFRESH_MS,
  )
  const machines = value?.machines
  return (
    <section class="card" aria-labelledby="machines-heading">
      <div class="card-head">
        <h2 id="machines-heading">Machines</h2>
        <p class="muted">All locations of {access.accessId}</p>
      </div>
      <p class="muted">
        Slots are of {network.name}. Lag is counted in slots from the best machine of the same
        location. A machine answers nothing once its lease has ended, so a token that is revoked
        cannot work there.
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {machines === undefined && failure === undefined && (
        <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {machines !== undefined && (
        <StackedTable label="Table of machines" columns={['Machine', ...COLUMNS]}>
          {machines.map(machine => (
            <Row
              key={machine.id}
              machine={machine}
              network={network.id}
              locations={access.locations}
            />
          ))}
        </StackedTable>
      )}
    </section>
  )
}
