import type { IncomingHttpHeaders } from 'node:http'
import { type Misbehaviour, MisbehaviourError, parseOrder } from './fault-injection.js'
import type { UpstreamAnswer } from './dev-upstream.js'

/** Options of what a dev upstream remembers. */
export const defaults = {
  /** Requests that are remembered; the oldest is forgotten for one more. */
  receivedCountMax: 50_000,
  /** The same for their bytes. */
  receivedBytesMax: 64 * 1024 * 1024,
}
export type ControlOptions = typeof defaults

/** One request as it came; its body is empty where it never came whole. */
export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  body: Buffer
}

/** About what an entry takes beside its body. */
const ENTRY_BYTES = 512

const JSON_TYPE = 'application/json'
const NORMAL: Misbehaviour = {}

const answer = (status: number, value: unknown): UpstreamAnswer => ({
  status,
  contentType: JSON_TYPE,
  body: JSON.stringify(value),
})

/** What a dev upstream has received, and how it is to misbehave from now on. */
export class ControlEndpoint {
  private readonly options: ControlOptions
  private readonly received = new Set<Received>()
  private receivedBytes = 0
  private misbehaviour: Misbehaviour = NORMAL
  private left = 0

  constructor(options: ControlOptions) {
    this.options = options
  }

  /** Remembers a request from its head on: it counts also where its body never comes. */
  note(path: string, headers: IncomingHttpHeaders): Received {
    const entry: Received = { path, headers, body: Buffer.alloc(0) }
    this.received.add(entry)
    this.receivedBytes += ENTRY_BYTES
    this.forgetOldest()
    return entry
  }

  noteBody(entry: Received, body: Buffer): void {
    if (!this.received.has(entry)) return
    entry.body = body
    this.receivedBytes += body.length
    this.forgetOldest()
  }

  /** How the next request is to be treated. */
  take(): Misbehaviour {
    const { misbehaviour } = this
    if (--this.left <= 0) this.misbehaviour = NORMAL
    return misbehaviour
  }

  /** Answers a request to the endpoint itself. */
  answer(method: string, body: string): UpstreamAnswer {
    if (method === 'GET') return answer(200, { received: this.list() })
    if (method !== 'POST') return answer(405, { error: 'GET or POST' })
    try {
      const { isClear, misbehaviour } = parseOrder(body)
      if (isClear) {
        this.received.clear()
        this.receivedBytes = 0
        this.misbehaviour = NORMAL
      }
      if (misbehaviour !== undefined) {
        this.misbehaviour = misbehaviour
        this.left = misbehaviour.times ?? Infinity
      }
      return answer(200, {})
    } catch (error) {
      if (!(error instanceof MisbehaviourError)) throw error
      return answer(400, { error: error.message })
    }
  }

  private list(): unknown[] {
    return Array.from(this.received, ({ path, headers, body }) => ({
      path,
      headers,
      body: body.toString('latin1'),
    }))
  }

  private forgetOldest(): void {
    const { receivedCountMax, receivedBytesMax } = this.options
    for (const oldest of this.received) {
      if (this.received.size <= receivedCountMax && this.receivedBytes <= receivedBytesMax) return
      this.received.delete(oldest)
      this.receivedBytes -= ENTRY_BYTES + oldest.body.length
    }
  }
}
