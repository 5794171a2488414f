import { useEffect, useRef, useState } from 'preact/hooks'
import { hasAttention } from '../lib/attention.js'

/** How often the stream is opened, or closed on a page that is not used. */
const CHECK_MS = 1_000
/** Wait after the service refused a stream. */
const REFUSED_MS = 10_000

/** What the service reports of the accesses. */
export type Events = {
  /** It reports changes; otherwise the page must ask by itself. */
  readonly isLive: boolean
  /** How many changes it has reported. */
  readonly changeCount: number
}

/** Listens to changes of the accesses, and calls back at the end of the session. */
export const useEvents = (onSignedOut: () => void): Events => {
  const [isLive, setLive] = useState(false)
  const [changeCount, setChangeCount] = useState(0)
  const latest = useRef({ onSignedOut })
  latest.current = { onSignedOut }
  useEffect(() => {
    let source: EventSource | undefined
    let digest: string | undefined
    let refusedMs = -Infinity
    const close = (): void => {
      source?.close()
      source = undefined
      setLive(false)
    }
    const open = (): void => {
      source = new EventSource('/api/events')
      source.addEventListener('accesses', ({ data }) => {
        // The first one of a connection may have nothing new.
        if (digest !== undefined && digest !== data) setChangeCount(count => count + 1)
        digest = String(data)
        setLive(true)
      })
      source.addEventListener('signed-out', () => {
        close()
        latest.current.onSignedOut()
      })
      source.addEventListener('error', () => {
        setLive(false)
        // Otherwise the browser connects again by itself.
        if (source?.readyState !== EventSource.CLOSED) return
        refusedMs = Date.now()
        close()
      })
    }
    // Browsers have few connections to one origin: only visible pages keep one.
    const check = (): void => {
      if (!hasAttention()) close()
      else if (source === undefined && Date.now() - refusedMs >= REFUSED_MS) open()
    }
    check()
    const timer = setInterval(check, CHECK_MS)
    document.addEventListener('visibilitychange', check)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', check)
      source?.close()
    }
  }, [])
  return { isLive, changeCount }
}
