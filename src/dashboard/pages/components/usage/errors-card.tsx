import { formatCount } from '../../lib/format.js'
import { sumCodes } from '../../lib/usage/usage-series.js'
import type { Access, RangeUsage } from '../../lib/wire.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'
import { RefusedByLimit } from './refused-by-limit.js'

const COLUMNS = ['Errors'] as const

/** Errors by code, and requests over each limit, in the time of the page. */
export const ErrorsCard = ({
  limits,
  usage,
  onCode,
}: {
  readonly limits: Access['limits']
  readonly usage: RangeUsage | undefined
  /** Shows the failed requests with a code. */
  readonly onCode: (code: string) => void
}) => {
  const codes = sumCodes(usage?.calls ?? [])
  return (
    <section class="card" aria-labelledby="errors-heading">
      <h2 id="errors-heading">Errors and limits</h2>
      {codes.length === 0 && <p class="muted">No errors with a code in this time.</p>}
      {codes.length > 0 && (
        <StackedTable label="Errors by code" columns={['Code', ...COLUMNS]}>
          {codes.map(({ code, count }) => (
            <FigureRow
              key={code}
              name={
                <button type="button" class="link-button" onClick={() => onCode(String(code))}>
                  {code}
                  <span class="unseen">: show the failed requests</span>
                </button>
              }
              columns={COLUMNS}
              cells={[formatCount(count)]}
            />
          ))}
        </StackedTable>
      )}
      <RefusedByLimit limits={limits} refused={usage?.overLimit} />
    </section>
  )
}
