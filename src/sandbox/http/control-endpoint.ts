import type { IncomingHttpHeaders } from 'node:http'
import { ControlRequestError, type Fault, parseControlRequest } from './fault-injection.js'
import type { UpstreamAnswer } from './upstream-request.js'

/** Bounds of the list of received requests. */
export const defaults = {
  /** When it is full, the oldest request is evicted. */
  receivedCountMax: 50_000,
  /** The same for the bytes of the requests. */
  receivedBytesMax: 64 * 1024 * 1024,
}
export type ControlOptions = typeof defaults

/** One request; its body is empty until it has been read whole. */
export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  body: Buffer
}

/** Estimated size of an entry without its body. */
const ENTRY_BYTES = 512

const NO_FAULT: Fault = {}

const json = (status: number, value: unknown): UpstreamAnswer => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify(value),
})

/** State of a dev upstream's `/_control`: the requests it received, and the fault to inject. */
export class ControlEndpoint {
  private readonly options: ControlOptions
  private readonly received = new Set<Received>()
  private receivedBytes = 0
  private fault: Fault = NO_FAULT
  private remainingCount = 0

  constructor(options: ControlOptions) {
    this.options = options
  }

  /** Records a request when its head has arrived, so that one without a whole body counts too. */
  addRequest(path: string, headers: IncomingHttpHeaders): Received {
    const entry: Received = { path, headers, body: Buffer.alloc(0) }
    this.received.add(entry)
    this.receivedBytes += ENTRY_BYTES
    this.evictOldest()
    return entry
  }

  addBody(entry: Received, body: Buffer): void {
    if (!this.received.has(entry)) return
    entry.body = body
    this.receivedBytes += body.length
    this.evictOldest()
  }

  /** The fault to inject into one request; counts it. */
  consumeFault(): Fault {
    const { fault } = this
    if (--this.remainingCount <= 0) this.fault = NO_FAULT
    return fault
  }

  /** Answers a request to the endpoint itself. */
  answer(method: string, body: string): UpstreamAnswer {
    if (method === 'GET') return json(200, { received: this.list() })
    if (method !== 'POST') return json(405, { error: 'GET or POST' })
    try {
      const { isClear, fault } = parseControlRequest(body)
      if (isClear) this.clear()
      if (fault !== undefined) {
        this.fault = fault
        this.remainingCount = fault.times ?? Infinity
      }
      return json(200, {})
    } catch (error) {
      if (!(error instanceof ControlRequestError)) throw error
      return json(400, { error: error.message })
    }
  }

  private clear(): void {
    this.received.clear()
    this.receivedBytes = 0
    this.fault = NO_FAULT
  }

  private list(): unknown[] {
    return Array.from(this.received, ({ path, headers, body }) => ({
      path,
      headers,
      body: body.toString('latin1'),
    }))
  }

  private evictOldest(): void {
    const { receivedCountMax, receivedBytesMax } = this.options
    for (const oldest of this.received) {
      if (this.received.size <= receivedCountMax && this.receivedBytes <= receivedBytesMax) return
      this.received.delete(oldest)
      this.receivedBytes -= ENTRY_BYTES + oldest.body.length
    }
  }
}
