/** Steps of a bootstrap, in order. After the last one the network's new store is the live one. */
export const BOOTSTRAP_STEPS = ['spool', 'load', 'replay', 'live'] as const
export type BootstrapStep = (typeof BOOTSTRAP_STEPS)[number]

/** Progress of a step. A total of 0 is unknown. */
export type StepProgress = {
  readonly done: number
  readonly total: number
  /** The unit of the counts. */
  readonly unit: string
  /** Further details, such as accounts or slots. */
  readonly detail: string
}

/** State of a bootstrap. Contains no secret. */
export type BootstrapStatus = {
  /** Id of the request, by which its sender recognises it. */
  readonly id: string
  readonly kind: 'snapshot' | 'incremental' | 'rpc' | 'peer'
  /** Files and URLs without secrets. */
  readonly locations: readonly string[]
  readonly step: BootstrapStep
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  /** Why it failed and what to do, or why it was cancelled. */
  readonly reason?: string
  /** Starts, including the first: a restarted process continues it. */
  readonly attempts: number
  readonly begunAtMs: number
  readonly stepAtMs: number
  readonly endedAtMs?: number
  readonly progress?: StepProgress
}

/** The repair step in progress, and its reason. */
export type RepairStatus = {
  readonly step: string
  readonly reason: string
  readonly sinceMs: number
}

/** An indexer's status file. Times are Unix milliseconds. */
export type IndexerStatus = {
  readonly network: string
  readonly pid: number
  /** When this was written. */
  readonly atMs: number
  /** The live store. */
  readonly generation: string
  readonly tip: {
    readonly slot: number
    readonly blockHeight: number
    /** When it was committed; null if an earlier process committed it. */
    readonly committedAtMs: number | null
    readonly blockTime: number | null
  } | null
  readonly isHealthy: boolean
  /** Why it is not. */
  readonly reason?: string
  /** Scheme and host of the feed in use. */
  readonly source: string
  readonly bootstrap?: BootstrapStatus
  readonly repair?: RepairStatus
}

/**
 * Scheme, host and port of a URL: what follows may be a secret. What is no URL is the path of a
 * file.
 */
export const printableLocation = (location: string): string => {
  if (!/^[a-z]+:\/\//i.test(location)) return location
  if (!URL.canParse(location)) return '(not a URL)'
  const { host, pathname, protocol } = new URL(location)
  const [name = ''] = pathname.split('/').slice(-1)
  // A snapshot is known by its name; every other part of a path may be a key.
  const shown = /^(incremental-)?snapshot[\w.-]*$/.test(name) ? `/…/${name}` : ''
  return `${protocol}//${host}${pathname === `/${name}` ? shown.replace('/…', '') : shown}`
}
