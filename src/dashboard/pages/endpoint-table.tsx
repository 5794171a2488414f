import { SecretField } from './secret-field.js'
import { ValueField } from './value-field.js'
import type { SecretView } from './use-secret.js'
import type { ActivePanel } from './wire.js'

/** The URLs of an active token. The column is called SSL, because its URLs are the secure ones. */
export const EndpointTable = ({
  panel,
  secret,
}: {
  readonly panel: ActivePanel
  readonly secret: SecretView
}) => (
  <table class="endpoints">
    <thead>
      <tr>
        <th scope="col">Endpoint</th>
        <th scope="col">SSL</th>
      </tr>
    </thead>
    <tbody>
      <tr>
        <th scope="row">RPC</th>
        <td>
          <SecretField name="RPC URL" part="rpcUrl" masked={panel.rpcUrl} secret={secret} />
        </td>
      </tr>
      <tr>
        <th scope="row">WebSocket</th>
        <td>
          <SecretField name="WebSocket URL" part="wsUrl" masked={panel.wsUrl} secret={secret} />
        </td>
      </tr>
      <tr>
        <th scope="row">Token</th>
        <td>
          <SecretField name="token" part="token" masked={panel.token.masked} secret={secret} />
        </td>
      </tr>
      {panel.streamingTargets.map(({ name, url }) => (
        <tr key={name}>
          <th scope="row">
            {name} <span class="muted">streaming</span>
          </th>
          <td>
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
