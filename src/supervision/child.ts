import { fork, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Assignment, Command, DrainMode, Event, InheritedListeners, Role } from './messages.js'

/**
 * Nothing may hold the event loop for long. By default V8 marks and compacts the heap of a young
 * process, and of one that has become quiet, for 4 to 10 ms, and takes as long for a large young
 * generation, for which it also waits for other threads: 20 to 775 ms where the processors are
 * busy, and the loop precedes those threads. With these flags most turns under attack are within
 * 2 ms; memory is below 100 MiB more.
 */
const SHORT_COLLECTIONS = [
  '--no-memory-reducer',
  '--max-semi-space-size=4',
  '--no-parallel-scavenge',
  '--initial-old-space-size=128',
]

/** What Node is started with, by the process. */
export const NODE_FLAGS: Partial<Record<Role, readonly string[]>> = {
  edge: SHORT_COLLECTIONS,
  sender: SHORT_COLLECTIONS,
  // It has nothing to do but on changes: with the default young generation its heap would stay
  // 30 MiB larger after it has read all accesses.
  follower: ['--max-semi-space-size=1'],
}

const programOf = (role: Role): string => fileURLToPath(import.meta.resolve(`#programs/${role}`))

/** How a process has ended: its output may have more. */
export const describeEnd = (code: unknown, signal: unknown): string =>
  `ended with ${signal === null ? `exit code ${String(code)}` : String(signal)}`

/** Of each child; listening sockets that it inherits come after them. */
const STDIO = ['ignore', 'inherit', 'inherit', 'ipc'] as const

/** Back-off for starting a child that ended again. */
export type RestartOptions = {
  readonly firstMs: number
  readonly maxMs: number
  /** Longest wait for a child that had been ready. */
  readonly readyMaxMs: number
  /** After a run of this length the next wait is `firstMs` again. */
  readonly settledMs: number
}

export type ChildOptions = {
  readonly role: Role
  readonly name: string
  readonly restart: RestartOptions
  /** Called at each start: the assignment may have changed since the last one. */
  readonly assignment: (listeners: InheritedListeners) => Assignment
  /** Listening sockets that it inherits: their descriptors in this process, by `host:port`. */
  readonly listeners?: InheritedListeners
  readonly onEvent: (event: Event, child: Child) => void
  /** A process has ended, expected or not. */
  readonly onExit: (pid: number) => void
  /** A process has ended unexpectedly and is started again. */
  readonly onFailure: (child: Child, reason: string, retryInMs: number) => void
}

/** A child process that is started again with back-off until it is stopped. */
export type Child = {
  readonly role: Role
  readonly name: string
  readonly pid: number | undefined
  /** True from its `ready` event until it ends. */
  readonly isReady: boolean
  send(command: Command): void
  /**
   * Kills it; it is started again with a new assignment. Returns false if it is not running, or was
   * killed already and has not exited yet.
   */
  restart(): boolean
  /**
   * Resolves when it is ready. Rejects with the reason if its process ends before, or after
   * `timeoutMs`, or with the reason of the signal.
   */
  untilReady(timeoutMs: number, signal: AbortSignal): Promise<void>
  /**
   * Drains it, and kills it at the deadline. Resolves when it has ended, with true if it had
   * drained; it is not started again.
   */
  stop(deadlineMs: number, mode?: DrainMode): Promise<boolean>
}

class RestartedChild implements Child {
  readonly role: Role
  readonly name: string
  isReady = false
  private readonly options: ChildOptions
  private process: ChildProcess | undefined
  private isWanted = true
  private waitMs: number
  private timer: NodeJS.Timeout | undefined
  private onStopped: ((hasDrained: boolean) => void) | undefined
  private stopped: Promise<boolean> | undefined
  private readonly progress = new EventEmitter()

  constructor(options: ChildOptions) {
    this.options = options
    this.role = options.role
    this.name = options.name
    this.waitMs = options.restart.firstMs
    this.start()
  }

  get pid(): number | undefined {
    return this.process?.pid
  }

  send(command: Command): void {
    // A child that is just ending misses the command; it reads the current state when it is back.
    if (this.process?.connected === true) this.process.send(command, () => {})
  }

  restart(): boolean {
    if (this.process === undefined || this.process.killed) return false
    return this.process.kill('SIGKILL')
  }

  async untilReady(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.isReady) return
    const timeout = AbortSignal.timeout(timeoutMs)
    const either = AbortSignal.any([timeout, signal])
    try {
      // An `error` event rejects it.
      await once(this.progress, 'ready', { signal: either })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (timeout.aborted)
        throw new Error(`${this.name} is not ready after ${timeoutMs} ms`, { cause: error })
      throw error
    }
  }

  stop(deadlineMs: number, mode: DrainMode = { isReplaced: false }): Promise<boolean> {
    this.isWanted = false
    clearTimeout(this.timer)
    const child = this.process
    if (child === undefined) return this.stopped ?? Promise.resolve(true)
    const killer = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
    child.once('exit', () => clearTimeout(killer))
    this.stopped ??= new Promise(resolve => {
      this.onStopped = resolve
      this.send({ kind: 'drain', ...mode })
    })
    return this.stopped
  }

  private start(): void {
    const startedAtMs = Date.now()
    let failure: string | undefined
    const inherited = Object.entries(this.options.listeners ?? {})
    const child = fork(programOf(this.role), {
      // Output before the child's log is open must not be lost; nothing is read from the terminal.
      stdio: [...STDIO, ...inherited.map(([, descriptor]) => descriptor)],
      serialization: 'advanced',
      execArgv: [...process.execArgv, ...(NODE_FLAGS[this.role] ?? [])],
    })
    this.process = child
    child.on('message', message => {
      const event = message as Event
      if (event.kind === 'ready') this.isReady = true
      if (event.kind === 'failed') failure = event.message
      this.options.onEvent(event, this)
      if (event.kind === 'ready') this.progress.emit('ready')
    })
    child.on('error', error => {
      failure ??= error.message
    })
    child.on('exit', (code, signal) => {
      if (child.pid !== undefined) this.options.onExit(child.pid)
      const reason = failure ?? describeEnd(code, signal)
      this.onExit(reason, { ranMs: Date.now() - startedAtMs, hasDrained: code === 0 })
    })
    // A descriptor has the number of its place among those that the child inherits.
    const listeners = Object.fromEntries(
      inherited.map(([address], index) => [address, STDIO.length + index]),
    )
    const assignment = this.options.assignment(listeners)
    child.send({ kind: 'start', assignment } satisfies Command, () => {})
  }

  private onExit(
    reason: string,
    { ranMs, hasDrained }: { readonly ranMs: number; readonly hasDrained: boolean },
  ): void {
    const { firstMs, maxMs, readyMaxMs, settledMs } = this.options.restart
    const waitMaxMs = this.isReady ? readyMaxMs : maxMs
    this.isReady = false
    this.process = undefined
    if (this.progress.listenerCount('error') > 0)
      this.progress.emit('error', new Error(`${this.name}: ${reason}`))
    if (!this.isWanted) {
      this.onStopped?.(hasDrained)
      return
    }
    if (ranMs >= settledMs) this.waitMs = firstMs
    const retryInMs = Math.min(this.waitMs, waitMaxMs)
    this.waitMs = Math.min(this.waitMs * 2, maxMs)
    this.options.onFailure(this, reason, retryInMs)
    if (this.isWanted) this.timer = setTimeout(() => this.start(), retryInMs)
  }
}

/** Starts a child process of this program in the given role. */
export const startChild = (options: ChildOptions): Child => new RestartedChild(options)

/** Loads the code of a role in a process of its own. Rejects with the reason where it cannot. */
export const demandLoadable = async (role: Role, timeoutMs: number): Promise<void> => {
  const child = fork(programOf(role), { stdio: [...STDIO], serialization: 'advanced' })
  const killer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  let failure: string | undefined
  child.on('message', message => {
    const event = message as Event
    if (event.kind === 'failed') failure = event.message
  })
  child.send({ kind: 'load' } satisfies Command, () => {})
  const [code, signal] = await once(child, 'exit')
  clearTimeout(killer)
  if (code !== 0)
    throw new Error(`${role} cannot be loaded: ${failure ?? describeEnd(code, signal)}`)
}
