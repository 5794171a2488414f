import type { UsageLimiter } from '../../access/limiter/usage-limiter.js'
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

/** Subscription methods for one socket; undefined where there are none. */
export type Connect = (socket: Socket, limits: SubscriptionLimits) => Connection | undefined

/** What the sessions of one network at one location share. */
export type SocketHost = {
  readonly location: string
  readonly view: ServedNetwork
  readonly limiter: UsageLimiter
  /** Registers admitted tokens with the compiled server. */
  readonly direct?: DirectReads | undefined
  readonly options: SocketOptions
  /** Of long replies that wait for their WebSockets, over a whole edge. */
  readonly budget: ByteBudget
  readonly pauses: AccessPauses
  /** The time of a turn that replies are collected for. */
  readonly turn: LoopTurn
  /** Unix milliseconds. */
  readonly now: () => number
  readonly timers: Timers
  readonly onRefusal: AdmissionParts['onRefusal']
  readonly log: Log
  readonly isLogged: boolean
  readonly connect: Connect
  /** What messages can submit. */
  readonly submissions?: SocketSubmissions | undefined
}
