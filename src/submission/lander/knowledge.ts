import type { LanderKnowledge } from '../link/messages.js'

/** What is known of the transactions of one request, and who must hear of it. */
export class Knowledge {
  private known: LanderKnowledge | undefined
  private tell: ((known: LanderKnowledge) => void) | undefined

  constructor(known: LanderKnowledge | undefined) {
    this.known = known
  }

  get isKnown(): boolean {
    return this.known !== undefined
  }

  get isAwaited(): boolean {
    return this.tell !== undefined && !this.isKnown
  }

  /** Only the first counts. */
  set(known: LanderKnowledge): void {
    if (this.isKnown) return
    this.known = known
    this.tell?.(known)
  }

  /** From now on this one hears of it, at once where it is known. */
  sendTo(tell: (known: LanderKnowledge) => void): void {
    this.tell = tell
    if (this.known !== undefined) tell(this.known)
  }
}
