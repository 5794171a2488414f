import { Icon } from '../shared/icon.js'
import { formatMoment, formatPlural } from '../../lib/format.js'
import type { TokenUsage } from '../../lib/wire.js'

const REASONS: Readonly<Record<string, string>> = {
  location: 'Token used at another location',
  address: 'Not the address in the IPv4 restriction',
  early: 'The access is not valid yet',
  ended: 'The access has ended',
  replaced: 'Token that was regenerated or revoked',
}

/** Who still uses tokens that were regenerated or revoked. */
const ReplacedNotice = ({ replaced }: { readonly replaced: TokenUsage['replaced'] }) => (
  <div class="notice is-warning">
    <Icon name="warning" />
    <ul class="notice-list" aria-label="Old tokens that are still used">
      {replaced.map(({ tail, address, lastSeenMs, today }) => (
        <li key={`${tail} ${address}`}>
          Old token <code>…{tail}</code>, still used from <code>{address}</code>,{' '}
          {formatPlural(today, 'time')} today (UTC), last on {formatMoment(lastSeenMs)}
        </li>
      ))}
    </ul>
  </div>
)

/** Refused attempts, newest first. */
export const RefusedTable = ({
  refused,
  replaced = [],
}: {
  readonly refused: TokenUsage['refused'] | undefined
  readonly replaced: TokenUsage['replaced'] | undefined
}) => (
  <section class="card" aria-labelledby="refused-heading">
    <h2 id="refused-heading" tabIndex={-1}>
      Refused attempts
    </h2>
    {replaced.length > 0 && <ReplacedNotice replaced={replaced} />}
    {refused !== undefined && refused.length === 0 && (
      <p class="muted">No refused attempts in the last 24 hours.</p>
    )}
    {refused !== undefined && refused.length > 0 && (
      <div class="scroll" role="region" aria-label="Table of refused attempts" tabIndex={0}>
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
