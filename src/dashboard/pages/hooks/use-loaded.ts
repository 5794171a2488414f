import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiFailure } from '../lib/api.js'
import { hasAttention } from '../lib/attention.js'

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

/**
 * Loads a value when `key` changes and when the tab becomes visible. While the page has attention
 * it also loads every `everyMs`, unless a request is pending. Outdated responses are dropped.
 */
export const useLoaded = <T>(key: string, load: () => Promise<T>, everyMs = 0): Loaded<T> => {
  const [state, setState] = useState<{ key: string; value?: T; failure?: string }>({ key })
  const latest = useRef({ key, load, call: 0, settled: 0 })
  if (latest.current.key !== key) latest.current.call += 1
  latest.current.key = key
  latest.current.load = load

  const reload = useCallback(async (): Promise<void> => {
    const call = (latest.current.call += 1)
    const isStale = (): boolean => latest.current.call !== call
    try {
      const value = await latest.current.load()
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
  }, [])

  useEffect(() => {
    void reload()
    const reloadIfVisible = (): void => {
      if (document.visibilityState === 'visible') void reload()
    }
    document.addEventListener('visibilitychange', reloadIfVisible)
    const renew = (): void => {
      const { call, settled } = latest.current
      if (call === settled && hasAttention()) void reload()
    }
    const timer = everyMs > 0 ? setInterval(renew, everyMs) : undefined
    return () => {
      latest.current.call += 1
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
