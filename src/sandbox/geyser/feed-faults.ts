import type { GrpcStatus } from './grpc-message.js'
import type { BankFault, Hidden } from './slot-faults.js'

/** Faults that the feed can inject. Slots are open or future ones. */
export type FeedFaults = {
  /** Ends every stream; without a status, with UNAVAILABLE. */
  dropStreams(status?: GrpcStatus): void
  /** Closes every connection without a status. */
  dropConnections(): void
  /** Sends nothing for a while, not even pings. */
  stall(ms: number): void
  /** Sends nothing until that many slots have started, then everything at once. */
  burst(slots: number): void
  /** Hides a slot from all subscribers, or (`live`) from all but later replays. */
  omitSlot(slot: number, hidden?: Hidden): void
  /** The block meta of the slot names a false parent hash. */
  forgeParent(slot: number): void
  /** Sends a slot twice. */
  doubleSlot(slot: number): void
  /** Sends a slot after its successor. */
  swapSlot(slot: number): void
  /** Sends two forks after a slot. */
  forkSlot(slot: number): void
  /**
   * Confirms a block after a slot that the chain does not have, in the slot of the next one.
   * Answers its hash, which is also the address of an account that only this block writes.
   */
  orphanSlot(slot: number): string
  /**
   * Gives a future slot a second bank; `skipped` leaves it without a block. Answers the address of
   * an account that only the lost bank writes.
   */
  splitSlot(slot: number, fault: BankFault): string
  /** Omits one account of a slot from its whole block, which announces it. */
  omitAccount(slot: number): void
  /** Makes slots before the open one unavailable for replay. */
  forgetReplay(): void
  /** Refuses the next `count` subscriptions. */
  refuse(status: GrpcStatus, count: number): void
}
