import type { RefObject } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { ActiveToken } from './active-token.js'
import { ApiFailure, type TokenScope } from '../lib/api.js'
import { ConfirmDialog, type Confirmation } from './confirm-dialog.js'
import { useServices } from '../hooks/context.js'
import { Icon } from './icon.js'
import { toMessage } from '../hooks/use-loaded.js'
import type { Access, Panel } from '../lib/wire.js'

/** What happened last, said where it happened. */
type Result = { readonly isGood: boolean; readonly text: string }

const CHANGED_ELSEWHERE =
  'This token was changed somewhere else in the meantime. What you see now is how it stands.'

/** The state of the other tab or person is newer than what was on the screen. */
const isOutdated = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.status === 404 || error.status === 409)

/** Why no token can be made, where the access does not hold. */
const WHY_NOT: Partial<Record<Access['state'], string>> = {
  ended: 'This access has ended, so no new token can be made.',
  upcoming: 'This access has not begun, so no token can be made yet.',
}

const NoToken = ({
  access,
  locationName,
  isBusy,
  onGenerate,
}: {
  readonly access: Access
  readonly locationName: string
  readonly isBusy: boolean
  readonly onGenerate: () => void
}) => (
  <section class="card empty">
    <Icon name="key" />
    <h2>No token yet for {locationName}</h2>
    <p class="muted">
      {WHY_NOT[access.state] ??
        'Generate one to get an RPC URL and a WebSocket URL that work at this location only.'}
    </p>
    <button
      type="button"
      class="button is-primary"
      disabled={WHY_NOT[access.state] !== undefined}
      aria-disabled={isBusy}
      aria-busy={isBusy}
      onClick={onGenerate}
    >
      Generate token
    </button>
  </section>
)

/**
 * Everything about the token of a scope: to get one, to use it, to restrict it, to replace or end
 * it.
 */
export const ConnectTab = (options: {
  readonly access: Access
  readonly scope: TokenScope
  readonly locationName: string
  readonly panel: Panel
  readonly heading: RefObject<HTMLHeadingElement | null>
  /** Resolves when what is on the screen is current again. */
  readonly onChanged: () => Promise<void>
}) => {
  const { access, scope, locationName, panel, heading, onChanged } = options
  const { api, announce } = useServices()
  const [isBusy, setBusy] = useState(false)
  const [result, setResult] = useState<Result>()
  const [confirmation, setConfirmation] = useState<Confirmation>()
  const hasChanged = useRef(false)

  const say = (isGood: boolean, text: string): void => {
    setResult({ isGood, text })
    announce(text)
  }

  /** A change that another tab has overtaken is no error of the person: show what is true now. */
  const apply = async (change: () => Promise<unknown>, done: string): Promise<void> => {
    try {
      await change()
      say(true, done)
    } catch (error) {
      if (!isOutdated(error)) throw error
      say(false, CHANGED_ELSEWHERE)
    }
    hasChanged.current = true
    await onChanged()
  }
  const showCurrent = (): void => {
    say(false, CHANGED_ELSEWHERE)
    void onChanged()
  }

  const generate = async (): Promise<void> => {
    if (isBusy) return
    setBusy(true)
    try {
      await apply(() => api.generate(scope), `${locationName} has a token. Its URLs work now.`)
      heading.current?.focus()
    } catch (error) {
      say(false, toMessage(error))
      // An answer that did not come may stand for a change that was made.
      void onChanged()
    }
    setBusy(false)
  }

  const regenerate: Confirmation = {
    title: `Regenerate the token for ${locationName}?`,
    effects: [
      'The current token stops working at once. Requests with its URLs are refused (HTTP 401) and open WebSockets are closed.',
      'Every service that uses this location needs the new URLs.',
      'The IPv4 restriction stays. Tokens of other locations are not affected.',
    ],
    action: 'Regenerate token',
    run: () =>
      apply(
        () => api.regenerate(scope),
        'The new token works, and the old one no longer does. Copy the new URLs to every service that used the old ones.',
      ),
  }
  const revoke: Confirmation = {
    title: `Revoke the token for ${locationName}?`,
    effects: [
      'The token stops working at once. Requests with its URLs are refused (HTTP 401) and open WebSockets are closed.',
      `Nothing works at ${locationName} until you generate a new token. Its IPv4 restriction is removed, too.`,
      `Your ${access.kind} stays. Tokens of other locations are not affected.`,
    ],
    action: 'Revoke token',
    run: () =>
      apply(
        () => api.revoke(scope),
        `The token is revoked: nothing works at ${locationName} any more.`,
      ),
  }
  const ask = (next: Confirmation): void => {
    hasChanged.current = false
    setConfirmation(next)
  }
  const close = (): void => {
    setConfirmation(undefined)
    // The button that opened the dialog may be gone, so the focus goes where the new state begins.
    if (hasChanged.current) heading.current?.focus()
  }

  return (
    <div class="stack">
      {result !== undefined && (
        <div class={`notice ${result.isGood ? 'is-good' : 'is-warning'}`}>
          <Icon name={result.isGood ? 'check' : 'warning'} />
          <p>{result.text}</p>
          <button
            type="button"
            class="button is-quiet is-icon"
            aria-label="Dismiss"
            onClick={() => {
              setResult(undefined)
              heading.current?.focus()
            }}
          >
            <Icon name="cross" />
          </button>
        </div>
      )}
      {panel.token === null ? (
        <NoToken
          access={access}
          locationName={locationName}
          isBusy={isBusy}
          onGenerate={() => void generate()}
        />
      ) : (
        <ActiveToken
          key={panel.token.tokenId}
          scope={scope}
          panel={panel}
          onRegenerate={() => ask(regenerate)}
          onRevoke={() => ask(revoke)}
          onChanged={onChanged}
          onOutdated={showCurrent}
          canReplace={access.state === 'active'}
        />
      )}
      {confirmation !== undefined && <ConfirmDialog confirmation={confirmation} onClose={close} />}
    </div>
  )
}
