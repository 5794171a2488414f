import { PendingFrames, toPendingFrame, type PendingFrame } from './pending-frames.js'

/** A socket that queues frames while its client does not read. */
export type SlowConsumer = {
  /** Queues a published frame. */
  enqueue(frame: PendingFrame): void
}

/**
 * Sockets whose clients do not read what is published. uWebSockets would try a write and copy
 * the frame for each of them; here one copy of a frame serves all of them.
 */
export class SlowConsumers {
  /** Bytes of all pending frames, each counted once. */
  bytes = 0
  private readonly byTopic = new Map<string, Set<SlowConsumer>>()

  add(consumer: SlowConsumer, topics: Iterable<string>): PendingFrames {
    const queue = new PendingFrames(topics)
    for (const topic of queue.topics) this.join(topic, consumer)
    return queue
  }

  /** Queues the frame for every slow consumer of the topic and returns their number. */
  publish(topic: string, frame: Uint8Array): number {
    const consumers = this.byTopic.get(topic)
    if (consumers === undefined) return 0
    const pending = toPendingFrame(frame, false)
    for (const consumer of consumers) consumer.enqueue(pending)
    return consumers.size
  }

  push(queue: PendingFrames, frame: PendingFrame): void {
    this.bytes += queue.push(frame)
  }

  shift(queue: PendingFrames): void {
    this.bytes -= queue.shift()
  }

  subscribe(consumer: SlowConsumer, queue: PendingFrames, topic: string): void {
    queue.topics.add(topic)
    this.join(topic, consumer)
  }

  unsubscribe(consumer: SlowConsumer, queue: PendingFrames, topic: string): void {
    queue.topics.delete(topic)
    const consumers = this.byTopic.get(topic)
    if (consumers?.delete(consumer) === true && consumers.size === 0) this.byTopic.delete(topic)
  }

  /** Ends all subscriptions of a consumer. Frames already queued stay. */
  unsubscribeAll(consumer: SlowConsumer, queue: PendingFrames): void {
    for (const topic of Array.from(queue.topics)) this.unsubscribe(consumer, queue, topic)
  }

  clear(queue: PendingFrames): void {
    while (queue.first !== undefined) this.shift(queue)
  }

  private join(topic: string, consumer: SlowConsumer): void {
    const consumers = this.byTopic.get(topic)
    if (consumers === undefined) this.byTopic.set(topic, new Set([consumer]))
    else consumers.add(consumer)
  }
}
