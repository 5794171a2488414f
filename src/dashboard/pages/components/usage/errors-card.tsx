import { formatCount } from '../../lib/format.js'
import { sumCodes } from '../../lib/usage/usage-series.js'
import type { RangeUsage } from '../../lib/wire.js'
import { FigureRow, StackedTable } from '../shared/stacked-table.js'

const COLUMNS = ['Errors'] as const

/** Errors by code in the time of the page. */
export const ErrorsCard = ({
  usage,
  onCode,
}: {
  readonly usage: RangeUsage | undefined
  /** Shows the failed requests with a code, where they are listed. */
  readonly onCode?: (code: string) => void
}) => {
  const codes = sumCodes(usage?.calls ?? [])
  return (
    <section class="card" aria-labelledby="errors-heading">
      <h2 id="errors-heading">Errors by code</h2>
      {codes.length === 0 && <p class="muted">No errors with a code in this range.</p>}
      {codes.length > 0 && (
        <StackedTable label="Table of errors by code" columns={['Code', ...COLUMNS]}>
          {codes.map(({ code, count }) => (
            <FigureRow
              key={code}
              name={
                onCode === undefined ? (
                  code
                ) : (
                  <button type="button" class="link-button" onClick={() => onCode(String(code))}>
                    {code}
                    <span class="unseen">: show the failed requests</span>
                  </button>
                )
              }
              columns={COLUMNS}
              cells={[formatCount(count)]}
            />
          ))}
        </StackedTable>
      )}
    </section>
  )
}
