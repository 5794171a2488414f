import { HeldQueue, type HeldFrame } from './pending-frames.js'
import type { ServerSocket } from './server-socket.js'

/**
 * Sockets whose clients do not take what is published. uWebSockets.js would ask the kernel for each
 * of them at each frame, and copy the frame once for each; here a frame stands once for all of
 * them.
 */
export class Holdings {
  /** Of all frames, each one counted once. */
  bytes = 0
  private readonly holders = new Map<string, Set<ServerSocket>>()

  open(socket: ServerSocket, topics: Iterable<string>): HeldQueue {
    const queue = new HeldQueue(topics)
    for (const topic of queue.topics) this.join(topic, socket)
    return queue
  }

  /** Answers how many sockets hold it. */
  publish(topic: string, frame: Uint8Array): number {
    const holders = this.holders.get(topic)
    if (holders === undefined) return 0
    const held = toHeld(frame, false)
    for (const socket of holders) socket.hold(held)
    return holders.size
  }

  push(queue: HeldQueue, frame: HeldFrame): void {
    this.bytes += queue.push(frame)
  }

  drop(queue: HeldQueue): void {
    this.bytes -= queue.drop()
  }

  subscribe(socket: ServerSocket, queue: HeldQueue, topic: string): void {
    queue.topics.add(topic)
    this.join(topic, socket)
  }

  unsubscribe(socket: ServerSocket, queue: HeldQueue, topic: string): void {
    queue.topics.delete(topic)
    const holders = this.holders.get(topic)
    if (holders?.delete(socket) === true && holders.size === 0) this.holders.delete(topic)
  }

  /** Its topics bring it nothing any more; what it has stays. */
  leave(socket: ServerSocket, queue: HeldQueue): void {
    for (const topic of Array.from(queue.topics)) this.unsubscribe(socket, queue, topic)
  }

  clear(queue: HeldQueue): void {
    while (queue.first !== undefined) this.drop(queue)
  }

  private join(topic: string, socket: ServerSocket): void {
    const holders = this.holders.get(topic)
    if (holders === undefined) this.holders.set(topic, new Set([socket]))
    else holders.add(socket)
  }
}

/** Whoever hands a frame over may use its bytes again. */
export const toHeld = (frame: Uint8Array | string, isBinary: boolean): HeldFrame => ({
  bytes: typeof frame === 'string' ? frame : Buffer.from(frame),
  isBinary,
  holdersCount: 0,
})
