import type { Log } from '../../shared/log.js'
import type { Child } from '../child.js'

/** Why a process is suspected: what the log says if it does not answer. */
export type ProbeReason = {
  readonly message: string
  /** Fields of the log line. */
  readonly fields?: Readonly<Record<string, unknown>>
}

export type LivenessProbeParts = {
  /**
   * A process that has answered nothing within this time is restarted. A pause of the whole machine
   * counts as at most a quarter of it.
   */
  readonly answerMs: number
  /** The processes that may be probed: no other is ever restarted. */
  readonly children: () => readonly Child[]
  readonly log: Log
  readonly onEnd: (child: Child) => void
}

/** Timer intervals that make up `answerMs`. */
const STEPS = 4

/**
 * Pings a process that is suspected to be stuck, and restarts it where it does not answer. It is
 * named by its id: the process may have ended, and another have taken its place.
 */
export class LivenessProbe {
  private readonly parts: LivenessProbeParts
  private readonly pending = new Map<number, NodeJS.Timeout>()

  constructor(parts: LivenessProbeParts) {
    this.parts = parts
  }

  /** Pings the process, unless its answer is awaited already. */
  probe(pid: number, reason: ProbeReason): void {
    const child = this.find(pid)
    if (child === undefined || this.pending.has(pid)) return
    let steps = 0
    const step = (): void => {
      steps += 1
      // After a pause of this process its answer may have arrived: it is read before the restart.
      if (steps === STEPS) setImmediate(expire)
    }
    const timer = setInterval(step, this.parts.answerMs / STEPS).unref()
    const expire = (): void => {
      clearInterval(timer)
      if (this.pending.get(pid) !== timer) return
      this.pending.delete(pid)
      this.restart(pid, reason)
    }
    this.pending.set(pid, timer)
    child.send({ kind: 'ping' })
  }

  /** True from the ping to the answer. */
  isPending(pid: number): boolean {
    return this.pending.has(pid)
  }

  /** A process has answered a ping. */
  onPong({ pid = 0 }: Child): void {
    clearInterval(this.pending.get(pid))
    this.pending.delete(pid)
  }

  /** Restarts a process without a ping, unless it was killed already. */
  restart(pid: number, { message, fields }: ProbeReason): void {
    const child = this.find(pid)
    if (child === undefined || !child.restart()) return
    this.parts.log.error({ process: child.name, childPid: pid, ...fields }, message)
    this.parts.onEnd(child)
  }

  private find(pid: number): Child | undefined {
    return this.parts.children().find(child => child.pid === pid)
  }
}
