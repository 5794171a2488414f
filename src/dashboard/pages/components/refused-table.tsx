import { formatMoment } from '../lib/format.js'
import type { TokenUsage } from '../lib/wire.js'

const REASONS: Readonly<Record<string, string>> = {
  location: 'Token of this location, used at another one',
  address: 'Not the address that the token is restricted to',
  early: 'The access has not begun',
  ended: 'The access has ended',
}

/** Who was turned away, newest first: the first place to look when something gets 401 or 403. */
export const RefusedTable = ({
  refused,
}: {
  readonly refused: TokenUsage['refused'] | undefined
}) => (
  <section class="card" aria-labelledby="refused-heading">
    <h2 id="refused-heading">Refused attempts</h2>
    {refused !== undefined && refused.length === 0 && (
      <p class="muted">Nobody was turned away here in the last 24 hours.</p>
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
