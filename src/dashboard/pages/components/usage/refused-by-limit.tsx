import { formatCount } from '../../lib/format.js'
import type { AccessUsage } from '../../lib/wire.js'

type Limits = AccessUsage['limits']

/** Names of limits, and how a refusal is answered. */
export const LIMIT_ROWS = [
  ['requestsPerSecondMax', 'Requests per second', 'HTTP 429 or error -32005'],
  ['requestsBurstMax', 'Requests of one batch', 'HTTP 429 or error -32005'],
  ['requestsInFlightMax', 'Requests in flight', 'HTTP 429 or error -32005'],
  ['socketsMax', 'WebSockets', 'HTTP 429'],
  ['subscriptionsPerSocketMax', 'Subscriptions per WebSocket', 'Error -32603'],
] as const satisfies readonly (readonly [keyof Limits, string, string])[]

/** What each limit has refused in the time of the page. */
const RefusedByLimit = ({
  limits,
  refused,
}: {
  /** Absent: of more than one access. */
  readonly limits?: Limits
  readonly refused: Limits | undefined
}) => (
  <table class="data by-limit" aria-labelledby="over-limit-heading">
    <thead>
      <tr>
        <th scope="col">Limit</th>
        {limits !== undefined && (
          <th scope="col" class="is-number">
            Value
          </th>
        )}
        <th scope="col" class="is-number">
          Refused
        </th>
      </tr>
    </thead>
    <tbody>
      {LIMIT_ROWS.map(([name, text, answer]) => (
        <tr key={name}>
          <th scope="row" class="is-wrapping">
            {text}
            <span class="sub">{answer}</span>
          </th>
          {limits !== undefined && <td class="is-number">{formatCount(limits[name])}</td>}
          <td class={refused?.[name] === 0 ? 'is-number is-zero' : 'is-number'}>
            {refused === undefined ? '–' : formatCount(refused[name])}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** Requests over each limit of an access, or of all, in the time of the page. */
export const OverLimitCard = (options: {
  readonly limits?: Limits
  readonly refused: Limits | undefined
}) => (
  <section class="card" aria-labelledby="over-limit-heading">
    <h2 id="over-limit-heading">Over a limit</h2>
    <RefusedByLimit {...options} />
  </section>
)
