import { useEffect } from 'preact/hooks'
import { useQuery } from '../lib/route.js'

/** Cards that a link can lead to; the id of each heading is `<name>-heading`. */
const TARGETS = ['failures', 'incidents', 'limits', 'refused'] as const

/**
 * Scrolls to the card that `at` in the query of the fragment names, and gives its heading the
 * focus: when the page is opened, and again when what is above the card has been loaded.
 */
export const useTarget = (isLoaded: boolean): void => {
  const [{ at }] = useQuery()
  useEffect(() => {
    const target = TARGETS.find(name => name === at)
    const heading = target && document.getElementById(`${target}-heading`)
    heading?.focus({ preventScroll: true })
    heading?.scrollIntoView()
  }, [at, isLoaded])
}
