import { useEffect, useRef, useState } from 'preact/hooks'
import { hasAttention } from '../lib/attention.js'
import { useServices } from './context.js'

/** How often the stream is opened, or closed on a page that is not used. */
const CHECK_MS = 1_000
/** Wait after the service refused a stream. */
const REFUSED_MS = 10_000
/** Wait for further cards, before a stream with their answers replaces the one before. */
const SETTLE_MS = 300

/** What the service reports of the accesses. */
export type Events = {
  /** How many changes it has reported. */
  readonly changeCount: number
}

type Handlers = {
  readonly onAccesses: (digest: string) => void
  readonly onSent: (paths: readonly string[] | undefined) => void
  readonly onAnswer: (path: string, body: unknown) => void
  readonly onSignedOut: () => void
  readonly onRefused: () => void
}

/** Opens a stream that sends the answers of these paths. */
const openSource = (paths: readonly string[], handlers: Handlers): EventSource => {
  const query =
    paths.length === 0 ? '' : `?${new URLSearchParams({ watch: JSON.stringify(paths) })}`
  const source = new EventSource(`/api/events${query}`)
  source.addEventListener('accesses', ({ data }) => {
    handlers.onAccesses(String(data))
    if (paths.length === 0) handlers.onSent([])
  })
  source.addEventListener('watching', ({ data }) => {
    const sent: unknown = JSON.parse(String(data))
    handlers.onSent(paths.filter((_, index) => Array.isArray(sent) && sent.includes(index)))
  })
  source.addEventListener('answer', ({ data }) => {
    const { path, body } = Object(JSON.parse(String(data))) as Readonly<Record<string, unknown>>
    handlers.onAnswer(String(path), body)
  })
  source.addEventListener('signed-out', handlers.onSignedOut)
  source.addEventListener('error', () => {
    handlers.onSent(undefined)
    // Otherwise the browser connects again by itself.
    if (source.readyState === EventSource.CLOSED) handlers.onRefused()
  })
  return source
}

/** Listens to changes of what is shown, and calls back at the end of the session. */
export const useEvents = (onSignedOut: () => void): Events => {
  const { live } = useServices()
  const [changeCount, setChangeCount] = useState(0)
  const latest = useRef({ onSignedOut })
  latest.current = { onSignedOut }
  useEffect(() => {
    let source: EventSource | undefined
    let digest: string | undefined
    let refusedMs = -Infinity
    let settling: ReturnType<typeof setTimeout> | undefined
    let watched = ''
    const close = (): void => {
      source?.close()
      source = undefined
      live.setSent(undefined)
    }
    const handlers: Handlers = {
      onAccesses: data => {
        // The first one of a connection may have nothing new.
        if (digest !== undefined && digest !== data) setChangeCount(count => count + 1)
        digest = data
      },
      onSent: paths => live.setSent(paths),
      onAnswer: (path, body) => {
        if (hasAttention()) live.receive(path, body)
      },
      onSignedOut: () => {
        close()
        latest.current.onSignedOut()
      },
      onRefused: () => {
        refusedMs = Date.now()
        close()
      },
    }
    // Browsers have few connections to one origin: only visible pages keep one.
    const check = (): void => {
      if (!hasAttention()) return close()
      if (source !== undefined || Date.now() - refusedMs < REFUSED_MS) return
      const paths = live.paths()
      watched = JSON.stringify(paths)
      source = openSource(paths, handlers)
    }
    const renew = (): void => {
      if (source === undefined || watched === JSON.stringify(live.paths())) return
      source.close()
      source = undefined
      check()
    }
    const stopPaths = live.onPaths(() => {
      clearTimeout(settling)
      settling = setTimeout(renew, SETTLE_MS)
    })
    check()
    const timer = setInterval(check, CHECK_MS)
    document.addEventListener('visibilitychange', check)
    return () => {
      stopPaths()
      clearTimeout(settling)
      clearInterval(timer)
      document.removeEventListener('visibilitychange', check)
      close()
    }
  }, [])
  return { changeCount }
}
