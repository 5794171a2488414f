import { useServices } from '../../hooks/context.js'
import { Failure } from '../shared/failure.js'
import { HEALTHS } from '../../lib/healths.js'
import { formatCount } from '../../lib/format.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import type { Access, Machine } from '../../lib/wire.js'

/** How often the machines are loaded again; each of them reports once a second. */
const REFRESH_MS = 2_000

const formatLease = (leaseMs: number | null): string =>
  leaseMs === null ? '–' : `${(leaseMs / 1_000).toFixed(1)} s`

const Row = ({ machine, network }: { readonly machine: Machine; readonly network: string }) => {
  const [tone, name] = HEALTHS[machine.state] ?? ['is-none', 'Unknown']
  const at = machine.slots.find(slot => slot.network === network)
  return (
    <tr>
      <th scope="row">
        <code>{machine.id}</code>
        <span class="sub">{machine.location}</span>
      </th>
      <td>
        <span class={`badge ${tone}`}>{name}</span>
      </td>
      <td class="is-number">{at === undefined ? '–' : formatCount(at.slot)}</td>
      <td class="is-number">{at === undefined ? '–' : formatCount(at.lag)}</td>
      <td class="is-number">{formatLease(machine.leaseMs)}</td>
      <td class="is-number">{machine.revision === null ? '–' : formatCount(machine.revision)}</td>
      <td>{machine.version ?? '–'}</td>
    </tr>
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
        Lag is counted in slots from the best machine of the same location. A machine answers
        nothing once its lease has ended, so a token that is revoked cannot work there.
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {machines === undefined && failure === undefined && (
        <div class="skeleton" role="status" aria-busy="true" aria-label="Loading" />
      )}
      {machines !== undefined && (
        <div class="scroll" role="region" aria-label="Table of machines" tabIndex={0}>
          <table class="data">
            <thead>
              <tr>
                <th scope="col">Machine</th>
                <th scope="col">State</th>
                <th scope="col" class="is-number">
                  Slot of {network.name}
                </th>
                <th scope="col" class="is-number">
                  Lag
                </th>
                <th scope="col" class="is-number">
                  Lease left
                </th>
                <th scope="col" class="is-number">
                  Revision
                </th>
                <th scope="col">Version</th>
              </tr>
            </thead>
            <tbody>
              {machines.map(machine => (
                <Row key={machine.id} machine={machine} network={network.id} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
