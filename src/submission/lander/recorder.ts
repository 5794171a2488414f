import type { Verdict } from '../../native/transactions.js'
import type { RpcError } from '../../shared/errors.js'
import type { Grant } from '../../shared/grant.js'
import { membersOf } from '../store/members.js'
import type { SubmissionStore } from '../store/submission-store.js'
import type { LanderRoute, Submission } from '../store/submission.js'
import { readLanderAnswer, type LanderAnswer } from './answer.js'

/** What happens to one request of a lander route. Nothing here delays it. */
export type LanderTrace = {
  /** It is refused by a check, and nothing is sent. */
  onRefused(error: Pick<RpcError, 'message'> & { readonly name?: string }): void
  /** Its bytes are written. */
  onSent(): void
  /** Its transactions were read, with these findings; undefined where they could not be. */
  onChecked(verdict: Verdict | undefined, findings?: string): void
  onAnswered(answer: LanderAnswer): void
}

export type LanderRecorderParts = {
  readonly store: Pick<SubmissionStore, 'record'>
  readonly newId: () => Uint8Array
  /** Unix milliseconds. */
  readonly now: () => number
  /** A request without an answer after this is stored as pending. */
  readonly pendingMs: number
}

const NOT_CHECKED = 'not checked: too many checks in flight'

/** Records the requests of the lander routes, after what their clients wait for. */
export class LanderRecorder {
  private readonly parts: LanderRecorderParts

  constructor(parts: LanderRecorderParts) {
    this.parts = parts
  }

  begin(route: LanderRoute, grant: Grant): LanderTrace {
    return new LanderRecord(this.parts, route, grant)
  }
}

class LanderRecord implements LanderTrace {
  private readonly parts: LanderRecorderParts
  private readonly route: LanderRoute
  private readonly grant: Grant
  private readonly receivedAtMs: number
  private readonly id: Uint8Array
  private forwardedAtMs: number | null = null
  private timer: NodeJS.Timeout | undefined
  private known: Partial<Submission> = {}
  private isChecked = false
  private answer: { readonly answer: LanderAnswer; readonly atMs: number } | undefined

  constructor(parts: LanderRecorderParts, route: LanderRoute, grant: Grant) {
    this.parts = parts
    this.route = route
    this.grant = grant
    this.id = parts.newId()
    this.receivedAtMs = parts.now()
  }

  onRefused({ message, name }: Pick<RpcError, 'message'> & { readonly name?: string }): void {
    const outcome = name === 'checksOverloaded' ? 'full' : 'invalid'
    const answeredAtMs = this.parts.now()
    setImmediate(() => this.record({ outcome, checks: message, answeredAtMs }))
  }

  onSent(): void {
    this.forwardedAtMs = this.parts.now()
    this.timer = setTimeout(() => this.record({}), this.parts.pendingMs)
    this.timer.unref()
  }

  onChecked(verdict: Verdict | undefined, findings = ''): void {
    this.isChecked = true
    this.known =
      verdict === undefined
        ? { checks: NOT_CHECKED }
        : {
            ...membersOf(verdict),
            // Of a batch the transactions belong together no further.
            bundleId: this.route === '/lander-submit-bundle' ? (verdict.bundleId ?? null) : null,
            ...(findings === '' ? {} : { findings }),
          }
    this.endIfKnown()
  }

  onAnswered(answer: LanderAnswer): void {
    this.answer = { answer, atMs: this.parts.now() }
    this.endIfKnown()
  }

  private endIfKnown(): void {
    const { answer: answered } = this
    if (answered === undefined || !this.isChecked) return
    clearTimeout(this.timer)
    // After the reply is written to the client.
    setImmediate(() => {
      const { answer, atMs } = answered
      this.record({ ...readLanderAnswer(this.route, answer), answeredAtMs: atMs })
    })
  }

  private record(ending: Partial<Submission>): void {
    const { accessId, location, network, tokenId } = this.grant
    this.parts.store.record(this.id, {
      accessId,
      tokenId,
      network,
      location,
      route: this.route,
      bundleId: null,
      signatures: [],
      receivedAtMs: this.receivedAtMs,
      checks: 'passed',
      joined: null,
      forwardedAtMs: this.forwardedAtMs,
      answeredAtMs: null,
      outcome: 'pending',
      result: null,
      error: null,
      engine: null,
      ...this.known,
      ...ending,
    })
  }
}

/** Of requests that are not recorded. */
export const NO_TRACE: LanderTrace = {
  onRefused() {},
  onSent() {},
  onChecked() {},
  onAnswered() {},
}
