import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiFailure } from '../lib/api.js'
import { hasAttention } from '../lib/attention.js'

/** A value from the API: what is known of it now, and why not more. */
export type Loaded<T> = {
  readonly value: T | undefined
  readonly failure: string | undefined
  /** Asks again. What is shown stays until the answer is here. */
  readonly reload: () => Promise<void>
}

export const toMessage = (error: unknown): string =>
  error instanceof ApiFailure
    ? error.message
    : 'Something went wrong in this page. Reload it to go on.'

/**
 * Loads a value again whenever `key` changes, when the tab is looked at again, and each `everyMs`
 * while it has attention. An answer that is no longer asked for is dropped.
 */
export const useLoaded = <T>(key: string, load: () => Promise<T>, everyMs = 0): Loaded<T> => {
  const [state, setState] = useState<{ key: string; value?: T; failure?: string }>({ key })
  const latest = useRef({ key, load, call: 0 })
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
  }, [])

  useEffect(() => {
    void reload()
    const look = (): void => {
      if (document.visibilityState === 'visible') void reload()
    }
    document.addEventListener('visibilitychange', look)
    const renew = (): void => {
      if (hasAttention()) void reload()
    }
    const timer = everyMs > 0 ? setInterval(renew, everyMs) : undefined
    return () => {
      latest.current.call += 1
      document.removeEventListener('visibilitychange', look)
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
