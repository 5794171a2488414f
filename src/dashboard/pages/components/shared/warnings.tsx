import { serviceNow } from '../../lib/clock.js'
import { useEffect, useRef } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { useLoaded } from '../../hooks/use-loaded.js'
import { toWarningText } from '../../lib/alerts/warning-text.js'
import type { Access, Warning } from '../../lib/wire.js'
import { Icon } from './icon.js'

/** How often warnings are loaded again. */
const REFRESH_MS = 15_000

const keyOf = ({ rule, network, location }: Warning): string =>
  [rule, network ?? '', location ?? ''].join(' ')

/**
 * Warnings of an access, with what to do. A new one is announced to screen readers. The page of a
 * location shows the incident of that location itself, and none of the others.
 */
export const Warnings = ({
  access,
  hasIncidents = true,
}: {
  readonly access: Access
  readonly hasIncidents?: boolean
}) => {
  const { announce, api } = useServices()
  const { accessId } = access
  // What cannot be loaded is shown by the parts of the page that need it, too.
  const { value } = useLoaded(accessId, () => api.warnings(accessId), REFRESH_MS)
  const wanted = (value?.warnings ?? []).filter(
    ({ kind, values }) =>
      hasIncidents || kind !== 'location-behind' || values['states'] === undefined,
  )
  const shown = wanted.map(warning => {
    const { title, advice } = toWarningText(warning, access, serviceNow())
    return { key: keyOf(warning), title, advice }
  })
  const announced = useRef<ReadonlySet<string>>(new Set())
  const keys = shown.map(({ key }) => key).join('\n')
  useEffect(() => {
    const added = shown.filter(({ key }) => !announced.current.has(key))
    announced.current = new Set(shown.map(({ key }) => key))
    if (added.length > 0) announce(added.map(({ title }) => `Warning: ${title}`).join(' '))
  }, [keys])

  return shown.length === 0 ? null : (
    <ul class="warnings" aria-label="Warnings">
      {shown.map(({ key, title, advice }) => (
        <li key={key} class="notice is-warning">
          <Icon name="warning" />
          <p>
            <strong>{title}</strong> {advice}
          </p>
        </li>
      ))}
    </ul>
  )
}
