/** Takes an answer of the API that has changed. */
type Listener = (body: unknown) => void

/** Answers that the event stream sends while a page shows them. */
export type Live = {
  /** Asks for the answers of a path; returns a function that ends it. */
  watch(path: string, listener: Listener): () => void
  /** The paths that are shown, in order. */
  paths(): readonly string[]
  /** Calls back when these are other ones. */
  onPaths(listener: () => void): () => void
  /** What the service says of its stream: the paths it sends; undefined: there is no stream. */
  setSent(paths: readonly string[] | undefined): void
  /** There is a stream. */
  isOpen(): boolean
  /** The stream sends the answers of this path. */
  isSent(path: string): boolean
  receive(path: string, body: unknown): void
}

/** Most paths of one stream, and their characters: the bounds of the service. */
const PATHS_MAX = 12
const CHARS_MAX = 6_000

export const createLive = (): Live => {
  const listeners = new Map<string, Set<Listener>>()
  const watchers = new Set<() => void>()
  let sent: ReadonlySet<string> | undefined
  const changed = (): void => {
    for (const watcher of watchers) watcher()
  }
  return {
    watch: (path, listener) => {
      const known = listeners.get(path) ?? new Set()
      listeners.set(path, known.add(listener))
      if (known.size === 1) changed()
      return () => {
        known.delete(listener)
        if (known.size > 0 || listeners.get(path) !== known) return
        listeners.delete(path)
        changed()
      }
    },
    paths: () => {
      const paths = [...listeners.keys()].toSorted().slice(0, PATHS_MAX)
      while (JSON.stringify(paths).length > CHARS_MAX) paths.pop()
      return paths
    },
    onPaths: listener => {
      watchers.add(listener)
      return () => watchers.delete(listener)
    },
    setSent: paths => (sent = paths && new Set(paths)),
    isOpen: () => sent !== undefined,
    isSent: path => sent?.has(path) === true,
    receive: (path, body) => {
      for (const listener of listeners.get(path) ?? []) listener(body)
    },
  }
}
