import type { ChildProcess } from 'node:child_process'
import type { Config } from '../config/config.js'
import { describeEnd, type Child } from './child.js'
import type { Command, Role } from './messages.js'

/**
 * Raised with a build that cannot run beside the former one: another layout of a store or of shared
 * memory, or other messages between supervisors, or between edges and the sender.
 */
export const TAKEOVER_VERSION = 4

/** Time for a successor that has the service to report it. */
const REPORT_MS = 1_000

/**
 * Where an edge is: its number among the edges, and its slot in what they share. The process of
 * gRPC has such a slot, too.
 */
export type EdgePlace = { readonly position: number; readonly slot: number }

/** A child of another supervisor. */
export type ChildDescription = {
  readonly role: Role
  readonly name: string
  /** Of an edge, and of the process of gRPC. */
  readonly place?: EdgePlace | undefined
}

/** What a supervisor needs to take over the service of another one. */
export type TakeoverState = {
  readonly version: number
  /** With which the service runs. */
  readonly config: Config
  /** Descriptor of the lock of the data directory. */
  readonly lock: number
  /** Descriptors of listening sockets, by address. */
  readonly listeners: Readonly<Record<string, readonly number[]>>
  /** Descriptor of the listening socket of the metrics page. */
  readonly metrics: number | undefined
  /** In the order in which they are replaced. */
  readonly children: readonly ChildDescription[]
  /** What requested the upgrade. */
  readonly request: { readonly id: string | undefined; readonly from: string }
}

/** What a successor requests of the supervisor that it replaces. */
type TakeoverRequest =
  /** Ends a child whose successor runs, or is started next. */
  | { readonly kind: 'retire'; readonly name: string }
  /** Starts one again that was retired. */
  | { readonly kind: 'restore'; readonly child: ChildDescription }
  /** Every child is replaced. */
  | { readonly kind: 'finish' }

type ToPredecessor =
  | { readonly kind: 'call'; readonly call: number; readonly request: TakeoverRequest }
  | { readonly kind: 'send'; readonly name: string; readonly command: Command }
  | { readonly kind: 'failed'; readonly message: string }

type ToSuccessor =
  | { readonly kind: 'takeOver'; readonly state: TakeoverState }
  | { readonly kind: 'reply'; readonly call: number; readonly error?: string }
  | { readonly kind: 'stop' }

/** The supervisor that this process replaces, over the channel to its parent. */
export class Predecessor {
  readonly state: TakeoverState
  private readonly pending = new Map<number, (error: string | undefined) => void>()
  private nextCall = 1

  private constructor(state: TakeoverState) {
    this.state = state
  }

  /** Waits for what it hands over. `onStop` is called where the service is to end meanwhile. */
  static connect(onStop: () => void): Promise<Predecessor> {
    let predecessor: Predecessor | undefined
    return new Promise(resolve => {
      // One listener for all: further messages may arrive with the first one.
      process.on('message', (message: ToSuccessor) => {
        if (message.kind === 'stop') onStop()
        else if (message.kind === 'reply') predecessor?.onReply(message)
        else resolve((predecessor = new Predecessor(message.state)))
      })
    })
  }

  /** Throws if the other supervisor is of a build that this one does not understand. */
  demandVersion(): void {
    if (this.state.version !== TAKEOVER_VERSION)
      throw new Error('this build cannot take over from the running one: restart the service')
  }

  /** Children of the other supervisor, as those of this one. */
  toChild({ role, name }: ChildDescription, ready: Promise<void> = Promise.resolve()): Child {
    return {
      role,
      name,
      // Its own supervisor watches it.
      pid: undefined,
      isReady: false,
      send: command => this.send({ kind: 'send', name, command }),
      restart: () => false,
      untilReady: () => ready,
      stop: async () => {
        await this.call({ kind: 'retire', name })
        return true
      },
    }
  }

  /** Has a child started again that was retired. */
  restore(child: ChildDescription): Child {
    return this.toChild(child, this.call({ kind: 'restore', child }))
  }

  /** Every child is replaced: from now on this process has the service. */
  finish(): Promise<void> {
    return this.call({ kind: 'finish' })
  }

  /** This process cannot take over, and ends. */
  fail(message: string): void {
    this.send({ kind: 'failed', message })
  }

  /** The other process waits for it, for a bounded time, before it ends. */
  disconnect(): void {
    if (process.connected) process.disconnect()
  }

  private onReply({ call, error }: Extract<ToSuccessor, { kind: 'reply' }>): void {
    this.pending.get(call)?.(error)
  }

  private send(message: ToPredecessor): void {
    if (process.connected) process.send?.(message, () => {})
  }

  private call(request: TakeoverRequest): Promise<void> {
    const call = this.nextCall++
    return new Promise((resolve, reject) => {
      this.pending.set(call, error => {
        this.pending.delete(call)
        if (error === undefined) resolve()
        else reject(new Error(error))
      })
      this.send({ kind: 'call', call, request })
    })
  }
}

/** What the supervisor that is replaced does for its successor. */
export type TakeoverHandlers = {
  retire(name: string): Promise<void>
  restore(child: ChildDescription): Promise<void>
  finish(): Promise<void>
  /** Passes a command on to a child. */
  send(name: string, command: Command): void
}

/** A process that replaces this supervisor. */
export class Successor {
  private readonly child: ChildProcess
  private failure: string | undefined
  /** Resolves when it has the service; rejects if it ends before. */
  readonly hasFinished: Promise<void>
  /** Resolves when its process has ended, or has the service. */
  readonly ended: Promise<void>

  constructor(child: ChildProcess, state: TakeoverState, handlers: TakeoverHandlers) {
    this.child = child
    let onFinished = (): void => {}
    const exit = new Promise<string>(resolve => {
      child.once('error', error => resolve(error.message))
      child.once('exit', (code, signal) => resolve(describeEnd(code, signal)))
    })
    this.hasFinished = new Promise((resolve, reject) => {
      onFinished = resolve
      void exit.then(reason => reject(new Error(`the new supervisor: ${this.failure ?? reason}`)))
    })
    this.ended = this.hasFinished.catch(() => {})
    child.on('message', (message: ToPredecessor) => {
      if (message.kind === 'failed') this.failure = message.message
      else if (message.kind === 'send') handlers.send(message.name, message.command)
      else void this.answer(message, handlers, onFinished)
    })
    this.post({ kind: 'takeOver', state })
  }

  get pid(): number | undefined {
    return this.child.pid
  }

  /** The service is to end: it drains its children and ends, or is killed at the deadline. */
  async stop(deadlineMs: number): Promise<void> {
    const killer = setTimeout(() => this.kill(), deadlineMs)
    this.post({ kind: 'stop' })
    await this.ended
    clearTimeout(killer)
  }

  kill(): void {
    this.child.kill('SIGKILL')
  }

  private post(message: ToSuccessor): void {
    if (this.child.connected) this.child.send(message, () => {})
  }

  private async answer(
    { call, request }: Extract<ToPredecessor, { kind: 'call' }>,
    handlers: TakeoverHandlers,
    onFinished: () => void,
  ): Promise<void> {
    try {
      if (request.kind === 'retire') await handlers.retire(request.name)
      else if (request.kind === 'restore') await handlers.restore(request.child)
      else await handlers.finish()
      this.post({ kind: 'reply', call })
      if (request.kind !== 'finish') return
      // It disconnects when it has reported the upgrade.
      this.child.once('disconnect', onFinished)
      setTimeout(onFinished, REPORT_MS)
    } catch (error) {
      this.post({ kind: 'reply', call, error: error instanceof Error ? error.message : 'failed' })
    }
  }
}
