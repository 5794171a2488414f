import type { Config } from '../config/config.js'
import type { IdentityUser } from '../sandbox/identity/users.js'
import type { MetricsSnapshot } from '../shared/metrics.js'

/** The part of the service that a child process plays. */
export type Role = 'edge' | 'indexer' | 'control' | 'sandbox'

/**
 * The one chain that a sandbox's index may hold; another chain's store is replaced by a fresh one.
 */
export type DevChain = {
  readonly id: string
  readonly endpoint: string
  readonly firstSlot: number
}

/** Flags of `slotline sandbox`. */
export type SandboxFlags = {
  readonly port: number
  readonly dataDir: string
  readonly accountDir?: string | undefined
  readonly trafficPerSecond: number
  readonly slotMs: number
  readonly edgeCount?: number | undefined
  /**
   * Who can sign in; made by the command, so that they stay when the sandbox process is started
   * again.
   */
  readonly users?: readonly IdentityUser[] | undefined
}

/** What a child is told when it starts. Everything else it finds in the data directory. */
export type Assignment = {
  readonly config: Config
  /** Which of its kind, from 0. */
  readonly index: number
  /** The indexer's network. */
  readonly network?: string | undefined
  readonly devChain?: DevChain | undefined
  readonly sandbox?: SandboxFlags | undefined
}

/** From the supervisor to a child. */
export type Order =
  | { readonly kind: 'start'; readonly assignment: Assignment }
  | { readonly kind: 'drain' }
  /** Whoever is alive answers `pong`. */
  | { readonly kind: 'ping' }
  | { readonly kind: 'committed'; readonly network: string; readonly slot: number }
  | { readonly kind: 'storeReplaced'; readonly network: string }
  | { readonly kind: 'accessChanged' }
  | { readonly kind: 'collect'; readonly call: number }
  | {
      readonly kind: 'metrics'
      readonly call: number
      readonly snapshots: readonly MetricsSnapshot[]
    }
  | { readonly kind: 'ensureTokens'; readonly network: string }

/** From a child to the supervisor. Messages say only what to look at. */
export type Report =
  | {
      readonly kind: 'ready'
      readonly detail: Readonly<Record<string, unknown>>
      readonly devChain?: DevChain | undefined
    }
  /** An edge has a store with a block in it for every network. */
  | { readonly kind: 'indexed' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'committed'; readonly network: string; readonly slot: number }
  | { readonly kind: 'storeReplaced'; readonly network: string }
  | { readonly kind: 'accessChanged' }
  /** An edge has not confirmed a change of accesses, and has to go. */
  | { readonly kind: 'endEdge'; readonly pid: number }
  | { readonly kind: 'pong' }
  /** A read of this process has been open for so long. */
  | {
      readonly kind: 'longRead'
      readonly network: string
      readonly pid: number
      readonly seconds: number
    }
  | { readonly kind: 'snapshot'; readonly call: number; readonly snapshot: MetricsSnapshot }
  | { readonly kind: 'wantMetrics'; readonly call: number }
  | { readonly kind: 'tokens'; readonly tokens: Readonly<Record<string, string>> }
