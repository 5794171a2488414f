import { useState } from 'preact/hooks'
import { Failure } from './shared/failure.js'
import { Icon } from './shared/icon.js'
import { useServices } from '../hooks/context.js'
import { toMessage } from '../hooks/use-loaded.js'
import type { PageName } from '../lib/route.js'
import type { Session } from '../lib/wire.js'

type NavLink = { readonly page: PageName | undefined; readonly name: string; readonly href: string }

const LINKS: readonly NavLink[] = [
  { page: undefined, name: 'Overview', href: '#/' },
  { page: 'sessions', name: 'Sessions', href: '#/sessions' },
  { page: 'operator', name: 'Operator', href: '#/operator' },
]

export const Header = ({
  session,
  page: current,
  onSignOut,
}: {
  readonly session: Session
  readonly page: PageName | undefined
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
        <nav class="nav" aria-label="Pages">
          {LINKS.filter(({ page }) => page !== 'operator' || session.isOperator).map(
            ({ page, name, href }) => (
              <a key={href} href={href} aria-current={page === current ? 'page' : undefined}>
                {name}
              </a>
            ),
          )}
        </nav>
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
