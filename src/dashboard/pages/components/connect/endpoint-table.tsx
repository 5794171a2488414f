import type { ComponentChildren } from 'preact'
import { SecretField } from './secret-field.js'
import { ValueField } from '../shared/value-field.js'
import type { SecretView } from '../../hooks/use-secret.js'
import type { ActivePanel } from '../../lib/wire.js'

/** A value of the table with its name, and what is to know of it below the name. */
export const EndpointRow = ({
  name,
  detail,
  children,
}: {
  readonly name: ComponentChildren
  readonly detail?: string | undefined
  readonly children: ComponentChildren
}) => (
  <tr role="row">
    <th scope="row" role="rowheader">
      {name} {detail !== undefined && <span class="muted">{detail}</span>}
    </th>
    <td role="cell">{children}</td>
  </tr>
)

/** A table of URLs. The roles are explicit: browsers drop them where cells are stacked. */
export const EndpointRows = ({
  heads: [name, value],
  children,
}: {
  readonly heads: readonly [name: string, value: string]
  readonly children: ComponentChildren
}) => (
  <table class="endpoints" role="table">
    <thead role="rowgroup">
      <tr role="row">
        <th scope="col" role="columnheader">
          {name}
        </th>
        <th scope="col" role="columnheader">
          {value}
        </th>
      </tr>
    </thead>
    <tbody role="rowgroup">{children}</tbody>
  </table>
)

/** The URLs of an active token. The column SSL has the secure ones. */
export const EndpointTable = ({
  panel,
  secret,
}: {
  readonly panel: ActivePanel
  readonly secret: SecretView
}) => (
  <EndpointRows heads={['Endpoint', 'SSL']}>
    <EndpointRow name="RPC">
      <SecretField
        name="RPC URL"
        masked={panel.rpcUrl}
        toText={({ rpcUrl }) => rpcUrl}
        secret={secret}
      />
    </EndpointRow>
    <EndpointRow name="WebSocket">
      <SecretField
        name="WebSocket URL"
        masked={panel.wsUrl}
        toText={({ wsUrl }) => wsUrl}
        secret={secret}
      />
    </EndpointRow>
    <EndpointRow name="Token">
      <SecretField
        name="token"
        masked={panel.token.masked}
        toText={({ token }) => token}
        secret={secret}
      />
    </EndpointRow>
    {panel.streamingTargets.map(({ name, url, authentication }) => (
      <EndpointRow key={name} name={name} detail="streaming">
        <ValueField
          name={`${name} streaming target`}
          value={url}
          getText={() => Promise.resolve(url)}
        />
        {authentication !== undefined && (
          <p class="endpoint-note">Authentication: {authentication}</p>
        )}
      </EndpointRow>
    ))}
  </EndpointRows>
)
