import type {
  ChainProviderConfig,
  ControlConfig,
  EdgeConfig,
  FollowerConfig,
  GeyserConfig,
  IndexerConfig,
  SenderConfig,
} from '../config/child-config.js'
import type { AccessToEnsure } from '../control/accesses/ensure-accesses.js'
import type { EndedProcess } from '../control/incidents/ended-process.js'
import type { ChainOverride } from '../ingest/feed/sources.js'
import type { SubmissionQuery } from '../submission/relay/relay-types.js'
import type { FoundSubmission } from '../submission/store/submission.js'
import type { MetricsSnapshot } from '../shared/metrics.js'

/** The part of the service that a child runs, by the name of its program. */
export type Role =
  'edge' | 'geyser' | 'sender' | 'indexer' | 'control' | 'follower' | 'chain-provider'

/**
 * Descriptors of listening sockets that a child inherits, by `nameOfAddress`. One that is missing
 * is opened by the child itself.
 */
export type InheritedListeners = Readonly<Record<string, number>>

/**
 * What a child needs to start, and nothing that it does not: its part of the configuration has no
 * secret of another role. Everything else is in the data directory.
 */
export type Assignments = {
  readonly edge: {
    readonly config: EdgeConfig
    /** Its slot in what the edges share: from 0, below `edgeSlotsOf`. */
    readonly index: number
    /** Its number among the edges, from 0, which a successor takes over. */
    readonly position: number
    readonly listeners: InheritedListeners
  }
  readonly geyser: {
    readonly config: GeyserConfig
    /** Its slot among those of edges. */
    readonly index: number
    /** As of an indexer. */
    readonly chain: ChainOverride | undefined
    readonly listeners: InheritedListeners
  }
  readonly sender: { readonly config: SenderConfig }
  readonly indexer: {
    readonly config: IndexerConfig
    readonly network: string
    /** The chain that a sandbox provides in place of the configured feed. */
    readonly chain: ChainOverride | undefined
    /** Whether a store of an older layout or of other options is rebuilt, or refused. */
    readonly mayRebuild: boolean
  }
  readonly control: { readonly config: ControlConfig; readonly listeners: InheritedListeners }
  readonly follower: { readonly config: FollowerConfig }
  readonly 'chain-provider': {
    readonly config: ChainProviderConfig
    readonly options: unknown
  }
}

/** What a child of any role needs to start. */
export type Assignment = Assignments[Role]

/** How a process ends. */
export type DrainMode = {
  /** A successor has taken its place, and listens on the same ports. */
  readonly isReplaced: boolean
}

/** A change of the running service that has ended. */
export type ServiceChange = {
  readonly kind: 'reload' | 'upgrade'
  /** A signal, or a command and who ran it. */
  readonly from: string
  readonly outcome: { readonly isDone: boolean; readonly message: string }
}

/** From the supervisor to a child. */
export type Command =
  | { readonly kind: 'start'; readonly assignment: Assignment }
  /** Loads the code of its role, and ends. */
  | { readonly kind: 'load' }
  | ({ readonly kind: 'drain' } & DrainMode)
  /** For control: for the audit log. */
  | { readonly kind: 'recordChange'; readonly change: ServiceChange }
  /** For control: an incident. */
  | { readonly kind: 'processEnded'; readonly ended: EndedProcess }
  /** A live child answers `pong`. */
  | { readonly kind: 'ping' }
  | { readonly kind: 'committed'; readonly network: string; readonly slot: number }
  | { readonly kind: 'storeReplaced'; readonly network: string }
  | { readonly kind: 'accessChanged' }
  | { readonly kind: 'collectMetrics'; readonly call: number }
  /** To control: the sender looks for it at the other machines of its location. */
  | {
      readonly kind: 'submissionRequested'
      readonly senderPid: number
      readonly call: number
      readonly query: SubmissionQuery
    }
  /** To the sender that requested it. */
  | {
      readonly kind: 'submissionFound'
      readonly call: number
      readonly found: FoundSubmission | undefined
    }
  | {
      readonly kind: 'ensureAccesses'
      readonly network: string
      readonly accesses: readonly AccessToEnsure[]
    }

/**
 * From a child to the supervisor. State is in the stores: a message is a notice, or carries what
 * was asked for or a record that control stores.
 */
export type Event =
  | {
      readonly kind: 'ready'
      readonly detail: Readonly<Record<string, unknown>>
      readonly chain?: ChainOverride | undefined
    }
  /** An edge has a store with at least one block for every network. */
  | { readonly kind: 'indexed' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'committed'; readonly network: string; readonly slot: number }
  | { readonly kind: 'storeReplaced'; readonly network: string }
  | { readonly kind: 'accessChanged' }
  /** This edge, sender or process of gRPC did not confirm a change of accesses in time. */
  | { readonly kind: 'edgeUnconfirmed'; readonly pid: number }
  | { readonly kind: 'pong' }
  /** A read of this process has been open for `seconds`. */
  | {
      readonly kind: 'longRead'
      readonly network: string
      readonly pid: number
      readonly seconds: number
    }
  | { readonly kind: 'metrics'; readonly call: number; readonly snapshot: MetricsSnapshot }
  | {
      readonly kind: 'submissionRequested'
      readonly call: number
      readonly query: SubmissionQuery
    }
  | {
      readonly kind: 'submissionFound'
      readonly senderPid: number
      readonly call: number
      readonly found: FoundSubmission | undefined
    }
  | { readonly kind: 'accessesEnsured'; readonly tokens: Readonly<Record<string, string>> }

/** Sends an event to the supervisor. */
export type SendEvent = (event: Event) => void
