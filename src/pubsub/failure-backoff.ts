import type { RpcError } from '../shared/errors.js'
import type { Options } from './options.js'

/** Schedules a call and returns a function that cancels it. */
export type SetTimer = (run: () => void, waitMs: number) => () => void

/** Delays the replies to a client that repeats failing calls. */
export type FailureBackoff = {
  /** Throws the error at once, or rejects with it after a delay. */
  fail(error: RpcError): Promise<never>
  /** A call succeeded. */
  reset(): void
  /** Rejects all delayed calls now: while they wait they count as in flight. */
  close(): void
}

type Parts = {
  readonly options: Pick<
    Options,
    | 'failuresFreeMax'
    | 'failureWaitMs'
    | 'failureWaitLongMs'
    | 'failuresWaitingMax'
    | 'failuresMax'
    | 'failuresHalveMs'
  >
  readonly now: () => number
  readonly setTimer: SetTimer
  /** The client does not stop: its socket must be closed. */
  readonly onTooMany: () => void
}

/**
 * Exponential backoff for failing subscribes and unsubscribes: web3.js repeats them without a pause
 * for as long as its socket is open.
 */
export const createFailureBackoff = (parts: Parts): FailureBackoff => {
  const { options, now, setTimer, onTooMany } = parts
  const waiting = new Set<() => void>()
  let failures = 0
  let halvedMs = now()

  const decay = (): void => {
    const halvings = Math.floor((now() - halvedMs) / options.failuresHalveMs)
    failures = Math.floor(failures / 2 ** halvings)
    halvedMs += halvings * options.failuresHalveMs
  }

  return {
    fail: error => {
      decay()
      failures += 1
      const delayed = failures - options.failuresFreeMax
      if (delayed <= 0) throw error
      if (failures >= options.failuresMax || waiting.size >= options.failuresWaitingMax) {
        onTooMany()
        throw error
      }
      const waitMs = Math.min(options.failureWaitMs * 2 ** (delayed - 1), options.failureWaitLongMs)
      return new Promise((_, reject) => {
        const settle = (): void => {
          waiting.delete(settle)
          cancel()
          reject(error)
        }
        const cancel = setTimer(settle, waitMs)
        waiting.add(settle)
      })
    },
    reset: () => {
      failures = 0
    },
    close: () => {
      for (const settle of waiting) settle()
    },
  }
}
