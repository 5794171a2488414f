import type { Config } from '../config/config.js'
import type { AccessToEnsure } from '../control/accesses/ensure-accesses.js'
import type { ServiceChange } from './messages.js'
import type { TakeoverState } from './takeover.js'
import type { SuccessorProgram } from './hand-over.js'

type Listener = { readonly host: string; readonly port: number }

/** A process beside the service that provides its chain: started first, stopped last. */
export type ChainProvider = {
  readonly name: string
  /** What its program is started with; must survive a structured clone. */
  readonly options: unknown
  /** Ports that it will listen on: probed with the service's own before anything starts. */
  readonly listeners: readonly Listener[]
}

/** The running service. */
export type Service = {
  /** What the chain provider sent with its `ready` event. */
  chainProviderDetail(): Readonly<Record<string, unknown>>
  /** Grants accesses of a network that do not exist yet; answers their tokens by location. */
  ensureAccesses(
    network: string,
    accesses: readonly AccessToEnsure[],
  ): Promise<Readonly<Record<string, string>>>
  /** Resolves when every edge can answer from an indexed slot. */
  untilIndexed(): Promise<void>
  /**
   * Replaces the processes whose part another configuration changes, or all of them; answers their
   * names. Rejects if one of them cannot be replaced: then the service continues as before.
   */
  reload(to: Config, options: { readonly isForced: boolean }): Promise<string[]>
  /**
   * Starts a successor of this process, which replaces every child. Resolves with its process id
   * when it has the service: then this process must end. Rejects if it cannot; then this service
   * continues.
   */
  handOver(
    program: SuccessorProgram,
    request: TakeoverState['request'],
    onFinish: (pid: number) => void,
  ): Promise<number>
  /** Longest time from the call of `drain` to its end. */
  readonly drainMs: number
  /** Has a change of the service recorded in the audit log. */
  recordChange(change: ServiceChange): void
  /** Fails health, finishes requests in flight, ends the children. */
  drain(): Promise<void>
}
