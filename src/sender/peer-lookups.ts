import type { FoundSubmission } from '../submission/store/submission.js'
import type { PeerSubmissions, SubmissionQuery } from '../submission/relay/relay-types.js'

/** From the sender to control and back, beside what other machines take. */
const CONTROL_MS = 100

export type PeerLookupParts = {
  /** `peerMs` and `peerCallsMax` of the cluster. */
  readonly options: { readonly peerMs: number; readonly peerCallsMax: number }
  /** Has control ask the other machines; `onFound` gets its answer under the same number. */
  readonly request: (call: number, query: SubmissionQuery) => void
}

/**
 * Looks up submissions at the other machines of the location. Control calls them: the sender has no
 * certificate of the machine.
 */
export class PeerLookups implements PeerSubmissions {
  private readonly parts: PeerLookupParts
  private readonly pending = new Map<number, (found: FoundSubmission | undefined) => void>()
  private nextCall = 1

  constructor(parts: PeerLookupParts) {
    this.parts = parts
  }

  find(query: SubmissionQuery): Promise<FoundSubmission | undefined> {
    const { options, request } = this.parts
    if (this.pending.size >= options.peerCallsMax) return Promise.resolve(undefined)
    const call = this.nextCall++
    return new Promise(resolve => {
      const timer = setTimeout(() => this.onFound(call, undefined), options.peerMs + CONTROL_MS)
      this.pending.set(call, found => {
        clearTimeout(timer)
        resolve(found)
      })
      request(call, query)
    })
  }

  onFound(call: number, found: FoundSubmission | undefined): void {
    const resolve = this.pending.get(call)
    this.pending.delete(call)
    resolve?.(found)
  }
}
