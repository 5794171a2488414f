import { useState } from 'preact/hooks'
import { Failure } from './shared/failure.js'
import { Icon } from './shared/icon.js'
import { useServices } from '../hooks/context.js'
import { toMessage } from '../hooks/use-loaded.js'
import type { Session } from '../lib/wire.js'

export const Header = ({
  session,
  onSignOut,
}: {
  readonly session: Session
  readonly onSignOut: () => Promise<void>
}) => {
  const { announce } = useServices()
  // Not every provider has the email address.
  const who = session.email === '' ? session.name : session.email
  const [isLeaving, setLeaving] = useState(false)
  const [failure, setFailure] = useState<string>()
  const leave = async (): Promise<void> => {
    setLeaving(true)
    setFailure(undefined)
    try {
      await onSignOut()
      announce('Signed out')
    } catch (error) {
      setFailure(`You may still be signed in. ${toMessage(error)}`)
      setLeaving(false)
    }
  }
  return (
    <header class="header">
      <div class="header-inner">
        <span class="brand">
          <img src="./mark.svg" alt="" width="28" height="28" />
          Slotline
        </span>
        <span class="who" title={who}>
          <span class="unseen">Signed in as </span>
          {who}
        </span>
        <button
          type="button"
          class="button is-quiet"
          disabled={isLeaving}
          onClick={() => void leave()}
        >
          <Icon name="leave" />
          Sign out
        </button>
      </div>
      {failure !== undefined && (
        <div class="header-notice">
          <Failure message={failure} onRetry={() => void leave()} />
        </div>
      )}
    </header>
  )
}
