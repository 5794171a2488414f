import type { OnRefused } from '../authenticate.js'
import type { RefusalReason } from './layout.js'
import type { Usage } from './usage.js'

/** Refusals that wait to be counted; one more and they are counted at once. */
const WAITING_MAX = 1_024
/** How long they wait. */
const WAIT_MS = 50

type Refused = readonly [
  reason: RefusalReason,
  tokenId: string | undefined,
  address: string,
  atMs: number,
]

/** Counts refusals where the owner of the token sees them. */
export type RefusalMeter = {
  readonly onRefused: OnRefused
  /** Counts what still waits. */
  flush(): void
}

/**
 * Counts each refusal a little later: writing to the file of a known token takes longer than to the
 * one of all unknown tokens, which is in every cache, and that difference must not be a part of
 * anybody's answer.
 */
export const createRefusalMeter = (usage: Usage): RefusalMeter => {
  let waiting: Refused[] = []
  let timer: NodeJS.Timeout | undefined

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    const refusals = waiting
    waiting = []
    for (const [reason, tokenId, address, atMs] of refusals) {
      const meter = tokenId === undefined ? usage.unknown : usage.meterOf(tokenId)
      meter.addRefused(reason, address, atMs)
    }
  }

  return {
    flush,
    onRefused: (reason, tokenId, address, nowMs) => {
      waiting.push([reason, tokenId, address, nowMs])
      if (waiting.length >= WAITING_MAX) flush()
      else timer ??= setTimeout(flush, WAIT_MS)
    },
  }
}
