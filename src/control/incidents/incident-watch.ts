import type { IncidentRecord } from '../../access/store/control-store.js'
import type { Incidents } from './incident-store.js'

/** The state of a location, or of a machine of a cluster. */
export type Observed = {
  readonly location: string
  readonly machine: string | null
  /** As `/health` reports it. */
  readonly state: string
}

export type WatchOptions = {
  readonly incidentMinMs: number
  readonly incidentQuietMs: number
  readonly incidentStartMs: number
}

/** Turns states into incidents. */
export type IncidentWatch = {
  /** Looks at all states once. Called at intervals. */
  check(): Promise<void>
}

/** What is known of one location or machine. */
type Track = {
  readonly sinceMs: number
  hasServed: boolean
  badSinceMs: number | undefined
  okSinceMs: number | undefined
  reasons: readonly string[]
  /** The incident that lasts. */
  lasting: { readonly id: string; readonly record: IncidentRecord } | undefined
}

const keyOf = ({ location, machine }: Pick<IncidentRecord, 'location' | 'machine'>): string =>
  `${machine ?? ''} ${location ?? ''}`

/** The state of a machine that has never run. */
const isUnused = (state: string): boolean => state === 'not-started'

const newTrack = (sinceMs: number): Track => ({
  sinceMs,
  hasServed: false,
  badSinceMs: undefined,
  okSinceMs: undefined,
  reasons: [],
  lasting: undefined,
})

/** Those that lasted when the previous process ended go on. */
const loadTracks = (incidents: Incidents, limit: number, nowMs: number): Map<string, Track> => {
  const tracks = new Map<string, Track>()
  for (const { id, ...record } of incidents.list({ limit })) {
    const { reasons, endedAtMs } = record
    if (endedAtMs !== null || tracks.has(keyOf(record))) continue
    tracks.set(keyOf(record), { ...newTrack(nowMs), reasons, lasting: { id, record } })
  }
  return tracks
}

/** Watches the states of locations or machines, and records when they did not serve, and why. */
export const createIncidentWatch = (parts: {
  readonly incidents: Incidents
  readonly observe: () => readonly Observed[]
  readonly options: WatchOptions
  readonly now: () => number
  /** How many incidents there may be in the store. */
  readonly countMax: number
}): IncidentWatch => {
  const { incidents, observe, options, now, countMax } = parts
  const tracks = loadTracks(incidents, countMax, now())
  let isChecking = false

  const close = async (track: Track, endedAtMs: number): Promise<void> => {
    const { lasting } = track
    track.lasting = undefined
    track.badSinceMs = undefined
    track.reasons = []
    if (lasting !== undefined) await incidents.put(lasting.id, { ...lasting.record, endedAtMs })
  }
  const serve = async (track: Track): Promise<void> => {
    track.hasServed = true
    track.okSinceMs ??= now()
    const isOver = now() - track.okSinceMs >= options.incidentQuietMs
    if (track.lasting === undefined || isOver) await close(track, track.okSinceMs)
  }
  const fail = async (track: Track, { location, machine, state }: Observed): Promise<void> => {
    track.okSinceMs = undefined
    const isStarting = !track.hasServed && now() - track.sinceMs < options.incidentStartMs
    if (track.lasting === undefined && isStarting) return
    track.badSinceMs ??= now()
    const isKnown = track.reasons.includes(state)
    if (!isKnown) track.reasons = [...track.reasons, state]
    const { badSinceMs, reasons, lasting } = track
    if (lasting !== undefined) {
      if (isKnown) return
      const record = { ...lasting.record, reasons }
      track.lasting = { id: lasting.id, record }
      await incidents.put(lasting.id, record)
    } else if (now() - badSinceMs >= options.incidentMinMs) {
      const times = { startedAtMs: badSinceMs, endedAtMs: null }
      const record = { location, machine, reasons, detail: '', ...times }
      track.lasting = { id: await incidents.add(record), record }
    }
  }

  return {
    check: async () => {
      if (isChecking) return
      isChecking = true
      try {
        const seen = new Set<string>()
        for (const observed of observe()) {
          if (isUnused(observed.state)) continue
          const key = keyOf(observed)
          seen.add(key)
          const track = tracks.get(key) ?? newTrack(now())
          tracks.set(key, track)
          await (observed.state === 'ok' ? serve(track) : fail(track, observed))
        }
        for (const [key, track] of tracks)
          if (!seen.has(key)) {
            // It is no longer part of the service.
            tracks.delete(key)
            await close(track, now())
          }
      } finally {
        isChecking = false
      }
    },
  }
}
