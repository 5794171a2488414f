import { StackedTable } from '../shared/stacked-table.js'
import { nameOfMessage } from '../../lib/alerts/alert-text.js'
import { formatMoment } from '../../lib/format.js'
import type { WebhookDelivery } from '../../lib/wire.js'

const COLUMNS = ['State', 'Answer', 'Attempts'] as const

const STATES = { pending: 'Waiting', delivered: 'Delivered', failed: 'Failed' } as const

const stateOf = ({ state, nextAtMs }: WebhookDelivery): string =>
  nextAtMs === null ? STATES[state] : `${STATES[state]}: next attempt ${formatMoment(nextAtMs)}`

const answerOf = ({ problem, status }: WebhookDelivery): string => {
  if (problem !== '') return problem
  return status === null ? '–' : String(status)
}

const Row = ({ delivery }: { readonly delivery: WebhookDelivery }) => {
  const cells = [stateOf(delivery), answerOf(delivery), String(delivery.attempts)]
  return (
    <tr>
      <th scope="row">
        {formatMoment(delivery.createdAtMs)} <span class="sub">{nameOfMessage(delivery.kind)}</span>
      </th>
      {cells.map((cell, index) => (
        <td key={COLUMNS[index]} class="is-wrapping" data-label={COLUMNS[index]}>
          <div>{cell}</div>
        </td>
      ))}
    </tr>
  )
}

/** The newest messages, newest first. */
export const DeliveryTable = ({
  nth,
  deliveries,
}: {
  /** Which of the webhooks of the access sent them, from 1 on. */
  readonly nth: number
  readonly deliveries: readonly WebhookDelivery[]
}) => (
  <StackedTable label={`Messages of webhook ${nth}`} columns={['Time and kind', ...COLUMNS]}>
    {deliveries.map(delivery => (
      <Row key={delivery.messageId} delivery={delivery} />
    ))}
  </StackedTable>
)
