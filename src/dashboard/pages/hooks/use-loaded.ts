import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiFailure, queryOf } from '../lib/api.js'
import { hasAttention } from '../lib/attention.js'
import { useServices } from './context.js'

/** A value from the API. */
export type Loaded<T> = {
  readonly value: T | undefined
  readonly failure: string | undefined
  /** Loads again. The current value stays until the response arrives. */
  readonly reload: () => Promise<void>
}

export const toMessage = (error: unknown): string =>
  error instanceof ApiFailure
    ? error.message
    : 'An error occurred on this page. Reload it to continue.'

/** A page with a stream asks for what it does not send, at most this often. */
const UNSENT_MS = 60_000

/** Follows the answers of a query that is shown; returns what asks for another one, and the end. */
const useWatched = () => {
  const { live } = useServices()
  const watched = useRef<{ path: string; stop: () => void } | undefined>(undefined)
  const stop = useCallback((): void => {
    watched.current?.stop()
    watched.current = undefined
  }, [])
  const follow = useCallback(
    (answer: Promise<unknown>, onValue: (value: unknown) => void): void => {
      const query = queryOf(answer)
      if (query?.path === watched.current?.path) return
      stop()
      if (query === undefined) return
      const { path, parse } = query
      watched.current = { path, stop: live.watch(path, body => onValue(parse(body))) }
    },
    [live],
  )
  /** Whether the page must ask by itself, after this time without. */
  const mustAsk = useCallback((sinceMs: number): boolean => {
    if (watched.current !== undefined && live.isSent(watched.current.path)) return false
    return !live.isOpen() || sinceMs >= UNSENT_MS
  }, [])
  return { follow, stop, mustAsk }
}

/**
 * Loads a value when `key` changes and when the tab becomes visible. With `everyMs` it is followed
 * while the page has attention: the event stream sends it when it has changed. What the stream does
 * not send is loaded each minute, and without a stream every `everyMs`, unless a request is
 * pending. Outdated responses are dropped.
 */
export const useLoaded = <T>(key: string, load: () => Promise<T>, everyMs = 0): Loaded<T> => {
  const [state, setState] = useState<{ key: string; value?: T; failure?: string }>({ key })
  const latest = useRef({ key, load, call: 0, settled: 0, askedMs: 0, isShown: false })
  if (latest.current.key !== key) latest.current.call += 1
  latest.current.key = key
  latest.current.load = load
  const { follow, stop, mustAsk } = useWatched()

  const reload = useCallback(async (): Promise<void> => {
    const call = (latest.current.call += 1)
    const isStale = (): boolean => latest.current.call !== call
    latest.current.askedMs = Date.now()
    try {
      const answer = latest.current.load()
      if (everyMs > 0 && latest.current.isShown) {
        const of = latest.current.key
        follow(answer, value => {
          // What the page asks for meanwhile is newer.
          const { call: last, settled, key: current } = latest.current
          if (last === settled && of === current) setState({ key: of, value: value as T })
        })
      }
      const value = await answer
      if (!isStale()) setState({ key: latest.current.key, value })
    } catch (error) {
      const failure = toMessage(error)
      if (!isStale())
        setState(old =>
          old.key === latest.current.key
            ? { ...old, failure }
            : { key: latest.current.key, failure },
        )
    }
    if (!isStale()) latest.current.settled = call
  }, [everyMs])

  useEffect(() => {
    latest.current.isShown = true
    void reload()
    const reloadIfVisible = (): void => {
      if (document.visibilityState === 'visible') void reload()
    }
    document.addEventListener('visibilitychange', reloadIfVisible)
    const renew = (): void => {
      const { askedMs, call, settled } = latest.current
      if (call === settled && hasAttention() && mustAsk(Date.now() - askedMs)) void reload()
    }
    const timer = everyMs > 0 ? setInterval(renew, everyMs) : undefined
    return () => {
      latest.current.call += 1
      latest.current.isShown = false
      stop()
      document.removeEventListener('visibilitychange', reloadIfVisible)
      clearInterval(timer)
    }
  }, [key, everyMs, reload])

  const isCurrent = state.key === key
  return {
    value: isCurrent ? state.value : undefined,
    failure: isCurrent ? state.failure : undefined,
    reload,
  }
}
