import { fork, type ChildProcess } from 'node:child_process'
import type { Assignment, Order, Report, Role } from './messages.js'

/** How a child that ended is started again. */
export type Restart = {
  readonly firstMs: number
  readonly maxMs: number
  /** Longest wait for a child that had been ready. */
  readonly readyMaxMs: number
  /** A child that lived this long starts again at `firstMs`. */
  readonly settledMs: number
}

export type ChildOptions = {
  readonly role: Role
  readonly name: string
  readonly restart: Restart
  /** Asked at each start: what the child is told may have changed since the last one. */
  readonly assignment: () => Assignment
  readonly onReport: (report: Report, child: Child) => void
  /** A process has ended, wanted or not. */
  readonly onExit: (pid: number) => void
  readonly onEnd: (child: Child, reason: string, retryInMs: number | undefined) => void
}

/**
 * One child process for as long as it is wanted: started, started again with back-off, told things.
 */
export type Child = {
  readonly role: Role
  readonly name: string
  readonly pid: number | undefined
  /** True from its `ready` until it ends. */
  readonly isReady: boolean
  tell(order: Order): void
  /** Kills it; it is started again with a new assignment. */
  restart(): void
  /**
   * Asks it to drain, and kills it at the deadline. Resolves when it is gone; it is not started
   * again.
   */
  stop(deadlineMs: number): Promise<void>
}

/** Starts a child process of this program in the given role. */
export const startChild = (options: ChildOptions): Child => {
  let process_: ChildProcess | undefined
  let isWanted = true
  let isReady = false
  let waitMs = options.restart.firstMs
  let timer: NodeJS.Timeout | undefined
  let onGone: (() => void) | undefined

  const start = (): void => {
    const startedAt = Date.now()
    const child = fork(process.argv[1] ?? '', ['role', options.role], {
      // What a child prints before its log is open must not be lost; nothing is read from the
      // terminal.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    process_ = child
    let failure: string | undefined
    child.on('message', message => {
      const report = message as Report
      if (report.kind === 'ready') isReady = true
      if (report.kind === 'failed') failure = report.message
      options.onReport(report, handle)
    })
    child.on('error', error => {
      failure ??= error.message
    })
    child.on('exit', (code, signal) => {
      const mostMs = isReady ? options.restart.readyMaxMs : options.restart.maxMs
      isReady = false
      process_ = undefined
      if (child.pid !== undefined) options.onExit(child.pid)
      if (!isWanted) {
        onGone?.()
        return
      }
      if (Date.now() - startedAt >= options.restart.settledMs) waitMs = options.restart.firstMs
      const retryInMs = Math.min(waitMs, mostMs)
      waitMs = Math.min(waitMs * 2, options.restart.maxMs)
      options.onEnd(
        handle,
        failure ?? `ended with ${signal ?? `exit code ${String(code)}`}`,
        retryInMs,
      )
      if (isWanted) timer = setTimeout(start, retryInMs)
    })
    child.send({ kind: 'start', assignment: options.assignment() } satisfies Order)
  }

  const handle: Child = {
    role: options.role,
    name: options.name,
    get pid() {
      return process_?.pid
    },
    get isReady() {
      return isReady
    },
    tell(order) {
      // A child that is just ending cannot be told; it looks for itself when it is back.
      if (process_?.connected === true) process_.send(order, () => {})
    },
    restart() {
      process_?.kill('SIGKILL')
    },
    stop(deadlineMs) {
      isWanted = false
      clearTimeout(timer)
      const child = process_
      if (child === undefined) return Promise.resolve()
      return new Promise(resolve => {
        const killer = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
        onGone = () => {
          clearTimeout(killer)
          resolve()
        }
        handle.tell({ kind: 'drain' })
      })
    },
  }
  start()
  return handle
}
