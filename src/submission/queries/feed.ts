import type { LoopTurn } from '../../shared/event-loop/loop-turn.js'
import type { Follower, FollowSubmissions, Socket } from '../../shared/socket.js'
import { RpcError } from '../../shared/errors.js'
import type { StateChange } from '../store/changes.js'
import { formatCursor, parseCursor, type ChangePage, type Position } from '../store/event-log.js'
import type { StoreReader } from '../store/store-reader.js'
import { formatId } from '../store/submission-id.js'

/** Events that are read at once. */
const PAGE_MAX = 32
/** Bytes that a client may leave unread before nothing more is read for it. */
const QUEUED_BYTES_MAX = 16 * 1024

/** A position of no event: what is stored follows a gap. */
const NOWHERE: Position = { number: 1, changeCount: 1 }

export type FeedParts = {
  readonly reader: Pick<StoreReader, 'changes' | 'lastPosition'>
  readonly turn: LoopTurn
  readonly onFault: (fault: unknown) => void
}

/** The followers of one access, and the page that they share. */
type Access = {
  readonly id: string
  readonly followers: Set<SubmissionFollower>
  shared: { readonly from: string; readonly page: ChangePage } | undefined
}

/**
 * Sends what submissions have come to, to the sockets that follow them. Nothing is kept for a
 * socket but its place among the events: one that reads slowly is sent the next ones when it has
 * taken the earlier ones.
 */
export class SubmissionFeed {
  private readonly parts: FeedParts
  private readonly accesses = new Map<string, Access>()
  /** Followers that may be sent something, in order. */
  private readonly queue = new Set<SubmissionFollower>()
  private isBusy = false

  constructor(parts: FeedParts) {
    this.parts = parts
  }

  /** Subscriptions to submissions. */
  get size(): number {
    let sum = 0
    for (const { followers } of this.accesses.values()) sum += followers.size
    return sum
  }

  /** There are new events of these accesses, or there may be of all. */
  onTold(accessIds: readonly string[] = [...this.accesses.keys()]): void {
    for (const id of accessIds) {
      const access = this.accesses.get(id)
      if (access === undefined) continue
      access.shared = undefined
      for (const follower of access.followers) this.queue.add(follower)
    }
    void this.run()
  }

  /** Follows the submissions of an access to a network. */
  follow(network: string): FollowSubmissions {
    return (accessId, from) => {
      const position = this.positionOf(accessId, from)
      return (socket, toFrame) => {
        const access = this.accessOf(accessId)
        const follower = new SubmissionFollower({
          access,
          network,
          socket,
          toFrame,
          position,
          onDrain: () => this.send(follower),
          onEnd: () => this.remove(follower),
        })
        access.followers.add(follower)
        this.send(follower)
        return follower
      }
    }
  }

  private positionOf(accessId: string, from: string | undefined): Position {
    const last = this.parts.reader.lastPosition(accessId)
    if (from === undefined) return last
    const position = parseCursor(from)
    if (position === undefined)
      throw new RpcError('submissionFilter', {
        name: 'from',
        expected: 'the `cursor` of a notification',
      })
    // Of a store that was lost: there is a gap.
    return position.number > last.number ? NOWHERE : position
  }

  private accessOf(id: string): Access {
    const known = this.accesses.get(id)
    if (known !== undefined) return known
    const access: Access = { id, followers: new Set(), shared: undefined }
    this.accesses.set(id, access)
    return access
  }

  private remove(follower: SubmissionFollower): void {
    const { access } = follower
    this.queue.delete(follower)
    access.followers.delete(follower)
    if (access.followers.size === 0) this.accesses.delete(access.id)
  }

  private send(follower: SubmissionFollower): void {
    this.queue.add(follower)
    void this.run()
  }

  /** Sends each follower one page after the other, in turns. */
  private async run(): Promise<void> {
    if (this.isBusy) return
    this.isBusy = true
    const { onFault, turn } = this.parts
    for (const follower of this.queue) {
      this.queue.delete(follower)
      try {
        if (turn.isOver) await turn.next()
        if (!follower.isReady) continue
        const page = this.pageAfter(follower.access, follower.position)
        // It is the last one of the queue then.
        if (page !== undefined && follower.take(page) && !page.isLast) this.queue.add(follower)
      } catch (fault) {
        onFault(fault)
      }
    }
    this.isBusy = false
  }

  private pageAfter(access: Access, position: Position): ChangePage | undefined {
    const from = formatCursor(position)
    if (access.shared?.from === from) return access.shared.page
    const page = this.parts.reader.changes(access.id, position, PAGE_MAX)
    access.shared = page && { from, page }
    return page
  }
}

type FollowerParts = {
  readonly access: Access
  readonly network: string
  readonly socket: Socket
  readonly toFrame: (result: string) => string
  readonly position: Position
  readonly onDrain: () => void
  readonly onEnd: () => void
}

/** One subscription. */
class SubmissionFollower implements Follower {
  readonly access: Access
  position: Position
  private readonly parts: FollowerParts
  private isClosed = false
  private isWaiting = false

  constructor(parts: FollowerParts) {
    this.parts = parts
    this.access = parts.access
    this.position = parts.position
  }

  /** Whether it can be sent anything. */
  get isReady(): boolean {
    return !this.isClosed && !this.isWaiting && !this.parts.socket.isClosed
  }

  /** False where it has not taken the whole page. */
  take({ changes, isGap }: ChangePage): boolean {
    const { network, socket, toFrame } = this.parts
    const [first] = changes
    if (isGap && first !== undefined)
      socket.send(toFrame(JSON.stringify({ cursor: formatCursor(this.position), gap: true })))
    for (const { change, event, position } of changes) {
      if (socket.queuedBytes > QUEUED_BYTES_MAX) {
        this.isWaiting = true
        socket.notifyDrain()
        return false
      }
      this.position = position
      if (event.network === network)
        socket.send(toFrame(toResult(formatId(event.id), event.route, change, position)))
      if (socket.isClosed) return false
    }
    return true
  }

  onDrain(): void {
    if (!this.isWaiting) return
    this.isWaiting = false
    this.parts.onDrain()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.parts.onEnd()
  }
}

const toResult = (
  submissionId: string,
  route: string,
  { error, errorWords, ...change }: StateChange,
  position: Position,
): string =>
  JSON.stringify({
    cursor: formatCursor(position),
    submissionId,
    route,
    ...change,
    ...(error !== undefined && { error: error === null ? null : (JSON.parse(error) as unknown) }),
    ...(errorWords !== undefined && { reason: errorWords }),
  })
