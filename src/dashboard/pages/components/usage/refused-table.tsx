import { formatMoment } from '../../lib/format.js'
import type { TokenUsage } from '../../lib/wire.js'

const REASONS: Readonly<Record<string, string>> = {
  location: 'Token used at another location',
  address: 'Not the address in the IPv4 restriction',
  early: 'The access is not valid yet',
  ended: 'The access has ended',
}

/** Refused attempts, newest first. */
export const RefusedTable = ({
  refused,
}: {
  readonly refused: TokenUsage['refused'] | undefined
}) => (
  <section class="card" aria-labelledby="refused-heading">
    <h2 id="refused-heading">Refused attempts</h2>
    {refused !== undefined && refused.length === 0 && (
      <p class="muted">No refused attempts in the last 24 hours.</p>
    )}
    {refused !== undefined && refused.length > 0 && (
      <div class="scroll" role="region" aria-label="Refused attempts" tabIndex={0}>
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">From address</th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {refused.map(({ atMs, address, reason }, index) => (
              <tr key={`${atMs}-${index}`}>
                <td>{formatMoment(atMs)}</td>
                <td>
                  <code>{address}</code>
                </td>
                <td>{REASONS[reason] ?? reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </section>
)
