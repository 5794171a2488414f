import type { ByteBudget } from '../../shared/byte-budget.js'
import type { Log } from '../../shared/log.js'
import type { LoopTurn } from '../../shared/event-loop/loop-turn.js'
import type { Timers } from '../../shared/event-loop/timers.js'
import type { Connection, Socket, SubscriptionLimits } from '../../shared/socket.js'
import type { AdmissionParts } from '../admission.js'
import type { DirectReads } from '../direct-reads.js'
import type { ServedNetwork } from '../networks/network-view.js'
import type { SocketSubmissions } from './submission-calls.js'
import type { AccessPauses, PauseOptions } from './access-pauses.js'
import type { BackoffOptions } from './failure-backoff.js'

/** Bounds of one WebSocket. */
export type SocketOptions = BackoffOptions &
  PauseOptions & {
    readonly socketCallsMax: number
    readonly socketRefusedBytesMax: number
    readonly socketPingMs: number
  }

/** What the WebSockets of one location need. */
export type EdgeSocketsParts = AdmissionParts & {
  readonly views: ReadonlyMap<string, ServedNetwork>
  /** Registers admitted tokens with the compiled server. */
  readonly direct?: DirectReads | undefined
  readonly log: Log
  readonly options: SocketOptions & { readonly socketFrameBytesMax: number }
  readonly timers: Timers
  /** Shared by all locations. */
  readonly budget: ByteBudget
  /** Shared by all locations. */
  readonly pauses: AccessPauses
  /** What messages can submit; nothing if it is absent. */
  readonly submissions?: SocketSubmissions | undefined
  /** Subscription methods of a network for one socket. */
  readonly connect: (
    network: string,
    socket: Socket,
    limits: SubscriptionLimits,
  ) => Connection | undefined
}

/** What the sessions of one network at one location share. */
export type SocketHost = Omit<EdgeSocketsParts, 'views' | 'connect'> & {
  readonly view: ServedNetwork
  /** The time of a turn that replies are collected for. */
  readonly turn: LoopTurn
  readonly isLogged: boolean
  readonly connect: (socket: Socket, limits: SubscriptionLimits) => Connection | undefined
}
