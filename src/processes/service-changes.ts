import type { Log } from '../shared/log.js'
import {
  takeChangeRequest,
  writeChangeState,
  type ChangeRequest,
  type ChangeState,
} from '../supervision/change-request.js'
import type { ServiceChange } from '../supervision/messages.js'

export type ServiceChangesParts = {
  readonly dataDir: string
  /** How often requests of commands are looked for. */
  readonly pollMs: number
  /** Carries a change out; answers what was done in one line. */
  readonly run: (kind: ChangeRequest['kind']) => Promise<string>
  /** Has an ended change recorded in the audit log. */
  readonly record: (change: ServiceChange) => void
  readonly log: Log
}

type Cause = Pick<ChangeRequest, 'kind' | 'from'> & { readonly id?: string }

/** Changes of the running service, requested by commands and signals: one at a time. */
export class ServiceChanges {
  private readonly parts: ServiceChangesParts
  private readonly timer: NodeJS.Timeout
  private isRunning = false
  /** A signal that came during a change: the file may have changed again. */
  private pending: Cause | undefined

  constructor(parts: ServiceChangesParts) {
    this.parts = parts
    // Of a former service, which did not come to it.
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

  private async run({ id, kind, from }: Cause): Promise<void> {
    const { log, record, run } = this.parts
    this.isRunning = true
    log.info({ change: kind, from }, 'changing the running service')
    this.write(id, 'running', '')
    let outcome: ServiceChange['outcome']
    try {
      outcome = { isDone: true, message: await run(kind) }
      log.info({ change: kind, from, outcome: outcome.message }, 'the service is changed')
    } catch (error) {
      outcome = { isDone: false, message: error instanceof Error ? error.message : String(error) }
      log.error({ change: kind, from, reason: outcome.message }, 'the service is not changed')
    }
    record({ kind, from, outcome })
    this.write(id, outcome.isDone ? 'done' : 'failed', outcome.message)
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
