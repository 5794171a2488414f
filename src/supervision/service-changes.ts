import type { Log } from '../shared/log.js'
import { explainError } from '../shared/files/system-error.js'
import {
  takeChangeRequest,
  writeChangeState,
  type ChangeRequest,
  type ChangeState,
} from './change-request.js'
import type { ServiceChange } from './messages.js'

export type ServiceChangesParts = {
  readonly dataDir: string
  /** Interval of reading requests of commands. */
  readonly pollMs: number
  /** Carries a change out; answers what was done in one line. */
  readonly run: (cause: ChangeCause) => Promise<string>
  /** Has an ended change recorded in the audit log. */
  readonly record: (change: ServiceChange) => void
  readonly log: Log
}

/** What requested a change; a signal has no id. */
export type ChangeCause = Pick<ChangeRequest, 'kind' | 'from'> & {
  readonly id?: string | undefined
}

/** Changes of the running service, requested by commands and signals: one at a time. */
export class ServiceChanges {
  private readonly parts: ServiceChangesParts
  private readonly timer: NodeJS.Timeout
  private isRunning = false
  /** A signal that came during a change: the file may have changed again. */
  private pending: ChangeCause | undefined

  constructor(parts: ServiceChangesParts) {
    this.parts = parts
    // Of a former service, which has not carried it out.
    takeChangeRequest(parts.dataDir)
    this.timer = setInterval(() => this.poll(), parts.pollMs)
    this.timer.unref()
  }

  /** A signal requests a reload. During a change it waits for the end of that. */
  onSignal(signal: NodeJS.Signals): void {
    const cause = { kind: 'reload', from: signal } as const
    if (this.isRunning) this.pending = cause
    else void this.run(cause)
  }

  /** A signal waits for the end of a change. */
  get hasPendingSignal(): boolean {
    return this.pending !== undefined
  }

  stop(): void {
    clearInterval(this.timer)
    this.pending = undefined
  }

  private poll(): void {
    const request = takeChangeRequest(this.parts.dataDir)
    if (request === undefined) return
    if (!this.isRunning) return void this.run(request)
    this.write(request.id, 'failed', 'a change of the service is in progress')
  }

  /** A change has ended: reports how. */
  report({ id, kind, from }: ChangeCause, outcome: ServiceChange['outcome']): void {
    const { log, record } = this.parts
    const { isDone, message } = outcome
    if (isDone) log.info({ change: kind, from, outcome: message }, 'the service is changed')
    else log.error({ change: kind, from, reason: message }, 'the service is not changed')
    record({ kind, from, outcome })
    this.write(id, isDone ? 'done' : 'failed', message)
  }

  private async run(cause: ChangeCause): Promise<void> {
    const { id, kind, from } = cause
    this.isRunning = true
    this.parts.log.info({ change: kind, from }, 'changing the running service')
    this.write(id, 'running', '')
    try {
      this.report(cause, { isDone: true, message: await this.parts.run(cause) })
    } catch (error) {
      const message = explainError(error)
      this.report(cause, { isDone: false, message })
    }
    this.isRunning = false
    const { pending } = this
    this.pending = undefined
    if (pending !== undefined) void this.run(pending)
  }

  private write(id: string | undefined, state: ChangeState['state'], message: string): void {
    if (id === undefined) return
    try {
      writeChangeState(this.parts.dataDir, { id, pid: process.pid, state, message })
    } catch (error) {
      this.parts.log.warn({ err: error }, 'the outcome of a change cannot be written')
    }
  }
}
