import { SecretField } from './secret-field.js'
import { ValueField } from '../shared/value-field.js'
import type { SecretView } from '../../hooks/use-secret.js'
import type { ActivePanel } from '../../lib/wire.js'

/** The URLs of an active token. The column SSL has the secure ones. */
export const EndpointTable = ({
  panel,
  secret,
}: {
  readonly panel: ActivePanel
  readonly secret: SecretView
}) => (
  // The roles are explicit, because browsers drop them where the style sheet stacks the cells.
  <table class="endpoints" role="table">
    <thead role="rowgroup">
      <tr role="row">
        <th scope="col" role="columnheader">
          Endpoint
        </th>
        <th scope="col" role="columnheader">
          SSL
        </th>
      </tr>
    </thead>
    <tbody role="rowgroup">
      <tr role="row">
        <th scope="row" role="rowheader">
          RPC
        </th>
        <td role="cell">
          <SecretField name="RPC URL" part="rpcUrl" masked={panel.rpcUrl} secret={secret} />
        </td>
      </tr>
      <tr role="row">
        <th scope="row" role="rowheader">
          WebSocket
        </th>
        <td role="cell">
          <SecretField name="WebSocket URL" part="wsUrl" masked={panel.wsUrl} secret={secret} />
        </td>
      </tr>
      <tr role="row">
        <th scope="row" role="rowheader">
          Token
        </th>
        <td role="cell">
          <SecretField name="token" part="token" masked={panel.token.masked} secret={secret} />
        </td>
      </tr>
      {panel.streamingTargets.map(({ name, url }) => (
        <tr key={name} role="row">
          <th scope="row" role="rowheader">
            {name} <span class="muted">streaming</span>
          </th>
          <td role="cell">
            <ValueField
              name={`${name} streaming target`}
              value={url}
              getText={() => Promise.resolve(url)}
            />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
