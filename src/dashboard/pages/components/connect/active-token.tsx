import { ApiFailure, type TokenScope } from '../../lib/api.js'
import { CheckConnection } from './check-connection.js'
import { EndpointTable } from './endpoint-table.js'
import { formatMoment } from '../../lib/format.js'
import { FormerToken } from './overlap.js'
import { RestrictionForm } from './restriction-form.js'
import { SamplesCard } from './samples-card.js'
import { SubmissionCard } from './submission-card.js'
import { useMayChange } from '../../hooks/context.js'
import { useSecret } from '../../hooks/use-secret.js'
import type { ActivePanel } from '../../lib/wire.js'

/** An active token: its URLs, its restriction, and how to replace or revoke it. */
export const ActiveToken = (options: {
  readonly scope: TokenScope
  readonly panel: ActivePanel
  /** False if the access is not active; the token can then only be revoked. */
  readonly canReplace: boolean
  readonly onRegenerate: () => void
  readonly onRevoke: () => void
  readonly onEndFormer: () => void
  readonly onChanged: () => Promise<void>
  /** The displayed token is no longer the token of the scope. */
  readonly onOutdated: () => void
}) => {
  const { scope, panel, canReplace, onChanged, onOutdated } = options
  const { onEndFormer, onRegenerate, onRevoke } = options
  const mayCall = useMayChange()
  const secret = useSecret(scope, error => {
    if (error instanceof ApiFailure && error.status === 404) onOutdated()
  })
  return (
    <>
      {panel.token.former !== null && (
        <FormerToken former={panel.token.former} onEnd={onEndFormer} />
      )}
      <div class="beside">
        <div class="stack">
          <section class="card" aria-labelledby="endpoints-heading">
            <div class="card-head">
              <h2 id="endpoints-heading">Endpoints</h2>
              <p class="muted">Created {formatMoment(panel.token.createdAtMs)}</p>
            </div>
            <p class="muted">
              The URLs contain the token. Copy the complete URL and store it like a password.
            </p>
            <EndpointTable panel={panel} secret={secret} />
            {mayCall && (
              <CheckConnection scope={scope} address={panel.token.address} secret={secret.known} />
            )}
          </section>
          <RestrictionForm
            scope={scope}
            address={panel.token.address}
            onChanged={onChanged}
            onOutdated={onOutdated}
          />
          <section class="card" aria-labelledby="replace-heading">
            <h2 id="replace-heading">Replace or revoke</h2>
            <div class="actions">
              <div>
                <h3>Regenerate</h3>
                <p class="muted">
                  Generates a new token for this location. The current one becomes invalid
                  immediately, or within an hour if you choose so.
                </p>
              </div>
              <button type="button" class="button" disabled={!canReplace} onClick={onRegenerate}>
                Regenerate
              </button>
            </div>
            <div class="actions">
              <div>
                <h3>Revoke</h3>
                <p class="muted">
                  Removes the token of this location. You can generate a new one later.
                </p>
              </div>
              <button type="button" class="button is-danger-quiet" onClick={onRevoke}>
                Revoke
              </button>
            </div>
          </section>
        </div>
        <div class="stack">
          <SamplesCard panel={panel} secret={secret} />
          <SubmissionCard panel={panel} secret={secret} />
        </div>
      </div>
    </>
  )
}
