import { useState } from 'preact/hooks'
import { useMayChange, useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { formatMoment } from '../../lib/format.js'
import type { ApiKey } from '../../lib/wire.js'
import { ConfirmDialog } from '../connect/confirm-dialog.js'
import { Failure } from '../shared/failure.js'
import { StackedTable } from '../shared/stacked-table.js'
import { ValueField } from '../shared/value-field.js'
import { KeyDialog } from './key-dialog.js'
import { SCOPE_TEXTS } from './scope-texts.js'

/** How often the keys are loaded again. */
const REFRESH_MS = 30_000

const COLUMNS = ['May', 'Ends', 'Last used', 'Action'] as const

const scopeText = (scope: string): string =>
  SCOPE_TEXTS.find(([name]) => name === scope)?.[1] ?? scope

const Row = ({
  apiKey,
  onRevoke,
}: {
  readonly apiKey: ApiKey
  /** Undefined of those who may not. */
  readonly onRevoke: (() => void) | undefined
}) => {
  const { label, lastUsedMs, scopes, tail, validUntilMs } = apiKey
  const end = formatMoment(validUntilMs)
  const cells = [
    scopes.map(scopeText).join(', '),
    validUntilMs <= Date.now() ? `Ended ${end}` : end,
    lastUsedMs === null ? 'Never' : formatMoment(lastUsedMs),
    onRevoke && (
      <button type="button" class="button is-danger-quiet" onClick={onRevoke}>
        Revoke<span class="unseen"> {label}</span>
      </button>
    ),
  ]
  return (
    <tr>
      <th scope="row">
        <bdi>{label}</bdi> <span class="sub">slk_••••{tail}</span>
      </th>
      {cells.slice(0, onRevoke ? 4 : 3).map((cell, index) => (
        <td key={COLUMNS[index]} class="is-wrapping" data-label={COLUMNS[index]}>
          <div>{cell}</div>
        </td>
      ))}
    </tr>
  )
}

/** A key that was just made, which is never shown again. */
const NewKey = ({ secret, onDone }: { readonly secret: string; readonly onDone: () => void }) => (
  <div class="notice" role="status">
    <div>
      <p>Copy the key now: it is not shown again.</p>
      <ValueField name="API key" value={secret} getText={() => Promise.resolve(secret)} />
      <button type="button" class="button" onClick={onDone}>
        Done
      </button>
    </div>
  </div>
)

/** Keys with which programs call the API of this page for one access. */
export const KeysCard = ({ accessId }: { readonly accessId: string }) => {
  const { api, announce } = useServices()
  const { value, failure, reload } = useLoaded(accessId, () => api.keys(accessId), REFRESH_MS)
  const mayChange = useMayChange()
  const [isMaking, setMaking] = useState(false)
  const [secret, setSecret] = useState<string>()
  const [revoked, setRevoked] = useState<ApiKey>()
  const keys = value?.keys ?? []
  return (
    <section class="card" aria-labelledby="keys-heading">
      <div class="card-head">
        <h2 id="keys-heading">API keys</h2>
        {mayChange && (
          <button type="button" class="button" onClick={() => setMaking(true)}>
            Make a key
          </button>
        )}
      </div>
      <p class="muted">
        Programs call the API of this dashboard with a key, for {accessId} only. No key reveals a
        token.
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {secret !== undefined && <NewKey secret={secret} onDone={() => setSecret(undefined)} />}
      {value !== undefined && keys.length === 0 && <p class="muted">No keys yet.</p>}
      {keys.length > 0 && (
        <StackedTable
          label="List of keys"
          columns={['Name', ...COLUMNS.slice(0, mayChange ? 4 : 3)]}
        >
          {keys.map(key => (
            <Row
              key={key.keyId}
              apiKey={key}
              onRevoke={mayChange ? () => setRevoked(key) : undefined}
            />
          ))}
        </StackedTable>
      )}
      {isMaking && (
        <KeyDialog
          accessId={accessId}
          onMade={async made => {
            setSecret(made)
            await reload()
          }}
          onClose={() => setMaking(false)}
        />
      )}
      {revoked !== undefined && (
        <ConfirmDialog
          confirmation={{
            title: `Revoke ${revoked.label}?`,
            effects: ['Requests with this key are refused at once.'],
            action: 'Revoke key',
            run: async () => {
              await api.revokeKey(accessId, revoked.keyId)
              await reload()
              announce('Key revoked')
            },
          }}
          onClose={() => setRevoked(undefined)}
        />
      )}
    </section>
  )
}
