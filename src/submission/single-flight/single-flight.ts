import { setTimeout as sleep } from 'node:timers/promises'
import { formatId } from '../store/submission-id.js'
import type { Ending, Submission } from '../store/submission.js'
import type { Lock, LockOwner, LockTable } from './lock-table.js'

/** A send that was started. */
export type StartedSend = {
  readonly ended: Promise<Ending>
  /** Resolves when other edges can read how it ended; false where it could not be stored. */
  readonly stored: Promise<boolean>
}

/** A send that may be started. */
export type SendTask = {
  /** Digest of the bundle, its route and its network. */
  readonly key: Buffer
  readonly id: Uint8Array
  /** Reserves what the send needs. The function that it returns starts the send. */
  readonly prepare: () => (() => StartedSend) | 'full'
  /** Distinguishes submissions of the same bundle from those of another one with the same lock. */
  readonly isSame: (submission: Submission) => boolean
}

/**
 * How a bundle was sent: by this submission, by another one that it joined, or not at all.
 * `unknown`: another edge sent it, and its outcome cannot be read.
 */
export type SendResult =
  { readonly ending: Ending; readonly joined: string | null } | 'full' | 'unknown'

/** Bounds of waiting for another edge. */
export type SingleFlightOptions = {
  /** Pause between two reads of the other edge's store. */
  readonly followPollMs: number
  /** Longest wait: every time-out of a send, and the time to store its outcome. */
  readonly followMs: number
}

export type SingleFlightModules = {
  readonly locks: LockTable
  /** A submission of an edge of this machine, as far as it is stored. */
  readonly read: (edge: number, id: Uint8Array) => Submission | undefined
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** The first reads of another edge come without a pause: it may have started in this instant. */
const EAGER_READS = 3

/** A send of this edge, until its outcome is stored. */
type OwnSend = {
  readonly id: Uint8Array
  readonly lock: Lock
  readonly ended: Promise<Ending>
  /** It has ended: the same bundle is sent again, under a new lock. */
  hasEnded: boolean
}

/** Sends equal bundles that are in flight at any edge of the machine once; all get its outcome. */
export class SingleFlight {
  private readonly options: SingleFlightOptions
  private readonly modules: SingleFlightModules
  /** By key. */
  private readonly own = new Map<string, OwnSend>()
  /** Sends of other edges that requests here wait for, by key. */
  private readonly followed = new Map<string, Promise<SendResult | 'gone'>>()

  constructor(options: SingleFlightOptions, modules: SingleFlightModules) {
    this.options = options
    this.modules = modules
  }

  /** Joins the send of the same bundle, or starts one. */
  async run(task: SendTask): Promise<SendResult> {
    const name = task.key.toString('latin1')
    for (;;) {
      const own = this.own.get(name)
      if (own?.hasEnded === false) return { ending: await own.ended, joined: formatId(own.id) }
      const started = this.start(task, name)
      if (started !== 'in-flight') return started
      const result = await this.followTogether(task, name)
      if (result !== 'gone') return result
    }
  }

  /** Starts a send, unless there is one at another edge. */
  private start(
    { key, id, prepare }: SendTask,
    name: string,
  ): Promise<SendResult> | 'full' | 'in-flight' {
    const { locks } = this.modules
    const old = this.own.get(name)
    if (old !== undefined) {
      this.own.delete(name)
      locks.release(old.lock)
    }
    const lock = locks.tryAcquire(key)
    if (lock === 'full') return 'full'
    if (lock === 'locked') return 'in-flight'
    let send: ReturnType<typeof prepare> = 'full'
    try {
      send = prepare()
    } finally {
      if (send === 'full') locks.release(lock)
    }
    if (send === 'full') return 'full'
    // Before a byte is sent: other edges must find the submission even if this process dies.
    locks.setSubmission(lock, id)
    const { ended, stored } = send()
    this.keep(name, { id, lock, ended, hasEnded: false }, stored)
    return ended.then(ending => ({ ending, joined: null }))
  }

  private keep(name: string, own: OwnSend, stored: Promise<boolean>): void {
    const { locks } = this.modules
    this.own.set(name, own)
    const onEnded = (): void => {
      own.hasEnded = true
      locks.clearSubmission(own.lock)
    }
    const onStored = (): void => {
      if (this.own.get(name) !== own) return
      this.own.delete(name)
      locks.release(own.lock)
    }
    own.ended.then(onEnded, onEnded)
    stored.then(onStored, onStored)
  }

  /** Waits for another edge's send, once for all requests of this edge. */
  private followTogether(task: SendTask, name: string): Promise<SendResult | 'gone'> {
    const known = this.followed.get(name)
    // Without an id it has ended, and a request that comes now is too late to join it.
    if (known !== undefined && this.modules.locks.owner(task.key)?.id !== undefined) return known
    const following = this.follow(task)
    this.followed.set(name, following)
    const forget = (): void => {
      if (this.followed.get(name) === following) this.followed.delete(name)
    }
    following.then(forget, forget)
    return following
  }

  /** Waits until another edge's send has ended; `gone` where it never started. */
  private async follow({ key, isSame }: SendTask): Promise<SendResult | 'gone'> {
    const { locks, read, now } = this.modules
    const endMs = now() + this.options.followMs
    let sender: Required<LockOwner> | undefined
    for (let readCount = 0; ; readCount++) {
      // Before the record: a lock is released after the record can be read.
      const owner = locks.owner(key)
      if (owner?.id !== undefined) sender = { edge: owner.edge, id: owner.id }
      const found = sender?.id && read(sender.edge, sender.id)
      if (sender?.id !== undefined && found !== undefined) {
        if (!isSame(found)) sender = undefined
        else if (found.outcome !== 'pending') return { ending: found, joined: formatId(sender.id) }
      }
      // It was sent, but its outcome was not stored: it must not be sent again.
      if (owner === undefined) return sender === undefined ? 'gone' : 'unknown'
      if (now() > endMs) return 'unknown'
      await sleep(readCount < EAGER_READS ? 0 : this.options.followPollMs)
    }
  }
}
