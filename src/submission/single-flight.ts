import type { Ending } from './store/submission.js'

/** A send that may be started. */
export type SendTask = {
  /** Digest of the bundle, its route and its network, as hexadecimal. */
  readonly key: string
  /** Of the submission, as text. */
  readonly id: string
  /** Reserves what the send needs. The function that it returns starts the send. */
  readonly prepare: () => (() => Promise<Ending>) | 'full'
}

/**
 * How a bundle was sent: by this submission, by another one that it joined, or not at all.
 * `unknown`: a sender that has ended sent it.
 */
export type SendResult =
  { readonly ending: Ending; readonly joined: string | null } | 'full' | 'unknown'

/** Another process begins what is new: nothing of the task was begun. */
export class NotBegun extends Error {}

/** Sends equal bundles that are in flight once; all get the outcome. */
export class SingleFlight {
  private readonly mayBegin: () => boolean
  /** By key. */
  private readonly inFlight = new Map<string, Promise<SendResult>>()

  constructor(mayBegin: () => boolean) {
    this.mayBegin = mayBegin
  }

  /** Joins the send of the same bundle, or starts one. Throws NotBegun where it may not. */
  run({ key, id, prepare }: SendTask): Promise<SendResult> {
    const known = this.inFlight.get(key)
    if (known !== undefined) return known
    if (!this.mayBegin()) throw new NotBegun()
    const start = prepare()
    if (start === 'full') return Promise.resolve('full')
    const ended = start()
    this.add(
      key,
      ended.then(ending => ({ ending, joined: id })),
    )
    return ended.then(ending => ({ ending, joined: null }))
  }

  /** A send that another process has begun: equal bundles join it until it has ended. */
  add(key: string, result: Promise<SendResult>): void {
    this.inFlight.set(key, result)
    const forget = (): void => {
      if (this.inFlight.get(key) === result) this.inFlight.delete(key)
    }
    result.then(forget, forget)
  }

  /** Those in flight now, with their results. */
  entries(): readonly (readonly [key: string, result: Promise<SendResult>])[] {
    return [...this.inFlight]
  }
}
