import type { RpcError } from '../shared/errors.js'
import type { Options } from './options.js'

/** Runs something later; the answer calls it off. */
export type SetTimer = (run: () => void, waitMs: number) => () => void

/** What one socket's failing subscribes and unsubscribes cost it. */
export type Penalties = {
  /** Throws the error at once, or rejects with it later. */
  refuse(error: RpcError): Promise<never>
  /** A call succeeded: what was is forgotten. */
  forgive(): void
  /** Whatever waits is answered now: a call that waits keeps its place among those in flight. */
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
  /** The socket does not stop: it is to be closed. */
  readonly onTooMany: () => void
}

/**
 * Slows a client down that repeats what fails: web3.js does so without a pause, for as long as its
 * socket lives, for one wrong address or one subscription too many.
 */
export const createPenalties = ({ options, now, setTimer, onTooMany }: Parts): Penalties => {
  const waiting = new Set<() => void>()
  let failures = 0
  let halvedMs = now()

  const decay = (): void => {
    const halvings = Math.floor((now() - halvedMs) / options.failuresHalveMs)
    failures = Math.floor(failures / 2 ** halvings)
    halvedMs += halvings * options.failuresHalveMs
  }

  return {
    refuse: error => {
      decay()
      failures += 1
      const beyond = failures - options.failuresFreeMax
      if (beyond <= 0) throw error
      if (failures >= options.failuresMax || waiting.size >= options.failuresWaitingMax) {
        onTooMany()
        throw error
      }
      const waitMs = Math.min(options.failureWaitMs * 2 ** (beyond - 1), options.failureWaitLongMs)
      return new Promise((_, reject) => {
        const answer = (): void => {
          waiting.delete(answer)
          cancel()
          reject(error)
        }
        const cancel = setTimer(answer, waitMs)
        waiting.add(answer)
      })
    },
    forgive: () => {
      failures = 0
    },
    close: () => {
      for (const answer of waiting) answer()
    },
  }
}
