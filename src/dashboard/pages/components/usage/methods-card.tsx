import { formatCount, formatDuration } from '../../lib/format.js'
import type { MethodUsage } from '../../lib/wire.js'

const NAMES: Readonly<Record<string, string>> = {
  '(none)': 'No method',
  '(other)': 'Other methods',
  '(connect)': 'Opened WebSockets',
}

/** The name of a method as the page shows it. */
const MethodName = ({ method }: { readonly method: string }) =>
  NAMES[method] === undefined ? <code>{method}</code> : <>{NAMES[method]}</>

/** Errors, with how many had which code. */
const Errors = ({ errors, codes }: Pick<MethodUsage, 'errors' | 'codes'>) => {
  const listed = codes.reduce((sum, { count }) => sum + count, 0)
  return (
    <>
      {formatCount(errors)}
      {codes
        .toSorted((one, other) => other.count - one.count)
        .map(({ code, count }) => (
          <span key={code} class="sub">
            {code}: {formatCount(count)}
          </span>
        ))}
      {listed > 0 && listed < errors && (
        <span class="sub">other codes: {formatCount(errors - listed)}</span>
      )}
    </>
  )
}

/** More of them scroll by themselves in a narrow window. */
const SHOWN_MAX = 12
const COLUMNS = ['Requests', 'Errors', 'Over a limit', 'p50', 'p95', 'p99'] as const

const Row = ({ usage }: { readonly usage: MethodUsage }) => {
  const { method, requests, errors, rateLimited, codes, p50Ms, p95Ms, p99Ms } = usage
  const cells = [
    formatCount(requests),
    <Errors key="errors" errors={errors} codes={codes} />,
    formatCount(rateLimited),
    ...[p50Ms, p95Ms, p99Ms].map(ms => (ms === null ? '–' : formatDuration(ms))),
  ]
  return (
    <tr>
      <th scope="row">
        <MethodName method={method} />
      </th>
      {cells.map((cell, index) => (
        <td key={COLUMNS[index]} class="is-number" data-label={COLUMNS[index]}>
          <div>{cell}</div>
        </td>
      ))}
    </tr>
  )
}

const MethodTable = ({ methods }: { readonly methods: readonly MethodUsage[] }) => (
  <div
    class={methods.length > SHOWN_MAX ? 'scroll is-long' : 'scroll'}
    role="region"
    aria-label="Usage by method"
    tabIndex={0}
  >
    <table class="data is-stacked">
      <thead>
        <tr>
          <th scope="col">Method</th>
          {COLUMNS.map(name => (
            <th key={name} scope="col" class="is-number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {methods.map(usage => (
          <Row key={usage.method} usage={usage} />
        ))}
      </tbody>
    </table>
  </div>
)

/** Requests, errors by code and percentiles of each method in the time of the page. */
export const MethodsCard = ({
  methods,
}: {
  readonly methods: readonly MethodUsage[] | undefined
}) => (
  <section class="card is-whole" aria-labelledby="methods-heading">
    <h2 id="methods-heading">By method</h2>
    {methods?.length === 0 && <p class="muted">No requests in this range.</p>}
    {methods !== undefined && methods.length > 0 && <MethodTable methods={methods} />}
    <p class="muted">
      Server-side latency, excluding the network: half of the calls took at most p50.
    </p>
  </section>
)
