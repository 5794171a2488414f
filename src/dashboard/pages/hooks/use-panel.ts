import { useEffect, useRef } from 'preact/hooks'
import type { TokenScope } from '../lib/api.js'
import type { Panel } from '../lib/wire.js'
import { useServices } from './context.js'
import { useLoaded, type Loaded } from './use-loaded.js'

export type LoadedPanel = Loaded<Panel> & {
  readonly hasToken: boolean
  /** To be called before a reload after a change of this page, which says so itself. */
  readonly onOwnChange: () => void
}

/**
 * The panel of a location. It is loaded again after each change that the service reports, and a
 * token that is gone then is announced to screen readers.
 */
export const usePanel = (
  scope: TokenScope,
  {
    locationName,
    changeCount,
    isListed,
  }: {
    readonly locationName: string
    readonly changeCount: number
    /** The list of accesses has a token for it. */
    readonly isListed: boolean
  },
): LoadedPanel => {
  const { announce, api } = useServices()
  const key = `${scope.accessId}/${scope.network}/${scope.location}`
  const loaded = useLoaded(key, () => api.panel(scope))
  const { value: panel, reload } = loaded
  const known = useRef({ changeCount, isListed })
  useEffect(() => {
    const isKnown = known.current.changeCount === changeCount && known.current.isListed === isListed
    known.current = { changeCount, isListed }
    if (!isKnown) void reload()
  }, [changeCount, isListed])

  const hadToken = useRef(false)
  const isOwnChange = useRef(false)
  const hasToken = panel === undefined ? isListed : panel.token !== null
  useEffect(() => {
    if (panel === undefined) return
    if (hadToken.current && !hasToken && !isOwnChange.current)
      announce(`${locationName} has no token now.`)
    hadToken.current = hasToken
    isOwnChange.current = false
  }, [panel])
  const onOwnChange = (): void => {
    isOwnChange.current = true
  }
  return { ...loaded, hasToken, onOwnChange }
}
