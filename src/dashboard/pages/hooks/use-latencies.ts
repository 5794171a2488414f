import { useEffect, useState } from 'preact/hooks'
import { hasAttention } from '../lib/attention.js'

/** How often each location is measured: a browser seldom moves. */
const MEASURE_MS = 10 * 60_000
/** A location that takes longer counts as not reachable. */
const PING_TIMEOUT_MS = 3_000
/** Pings of a measurement, after one that opens the connection. */
const PINGS = 3

const ping = async (url: string): Promise<number> => {
  const started = performance.now()
  const response = await fetch(`${url}/ping`, {
    cache: 'no-store',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout(PING_TIMEOUT_MS),
  })
  await response.text()
  return performance.now() - started
}

/** The shortest of some round trips on an open connection; null if it is not reachable. */
const measure = async (url: string): Promise<number | null> => {
  try {
    await ping(url)
    const times: number[] = []
    for (let count = 0; count < PINGS; count += 1) times.push(await ping(url))
    return Math.min(...times)
  } catch {
    return null
  }
}

/** Round trips from this browser to each URL, in milliseconds; null if it is not reachable. */
export const useLatencies = (urls: readonly string[]): ReadonlyMap<string, number | null> => {
  const [latencies, setLatencies] = useState<ReadonlyMap<string, number | null>>(new Map())
  const key = urls.join(' ')
  useEffect(() => {
    let isStopped = false
    const measureAll = (): void => {
      if (!hasAttention()) return
      for (const url of key.split(' ').filter(one => one !== ''))
        void measure(url).then(latency => {
          if (!isStopped) setLatencies(old => new Map(old).set(url, latency))
        })
    }
    measureAll()
    const timer = setInterval(measureAll, MEASURE_MS)
    return () => {
      isStopped = true
      clearInterval(timer)
    }
  }, [key])
  return latencies
}
