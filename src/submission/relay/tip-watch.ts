import { setTimeout as sleep } from 'node:timers/promises'
import { isMap, parseJson } from '../../shared/values.js'
import type { SendModules, SendOptions } from './relay-types.js'
import type { TokenBucket } from './token-bucket.js'

const BODY = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"getTipAccounts","params":[]}')
/** Pause before an empty bucket is tried again. */
const RETRY_MS = 1_000
/** Longest pause between two looks at whether it is time. */
const TRY_MS = 30_000
/** Accounts in one log line, of each kind. */
const LOGGED_MAX = 16

/** What a watch works with. */
export type TipWatchModules = Pick<SendModules, 'upstream' | 'log'> & {
  readonly bucket: TokenBucket
  /** One token in each `tipCheckMs`, also over restarts of the sender. */
  readonly intervals: TokenBucket
  /** Called after each answer that names accounts. */
  readonly onCompared: (isSame: boolean) => void
}

const toAccounts = (body: Uint8Array): readonly string[] | undefined => {
  const parsed = parseJson(Buffer.from(body).toString())
  const result = isMap(parsed) ? parsed['result'] : undefined
  if (!Array.isArray(result) || result.length === 0) return undefined
  const accounts: readonly unknown[] = result
  return accounts.every(account => typeof account === 'string') ? accounts : undefined
}

/**
 * Compares the engine's own list of tip accounts with the configured one, which the checks count:
 * after the engine has changed its accounts no bundle lands. Takes its requests from the bucket of
 * status queries.
 */
export const watchTips = (
  options: SendOptions,
  { upstream, bucket, intervals, log, onCompared }: TipWatchModules,
): { close(): void } => {
  const { network, route, path, engineTipAccounts, tipCheckMs } = options
  const stop = new AbortController()
  const configured = new Set(engineTipAccounts)

  const compare = (accounts: readonly string[]): void => {
    const unknown = accounts.filter(account => !configured.has(account))
    const engine = new Set(accounts)
    const missing = engineTipAccounts.filter(account => !engine.has(account))
    const isSame = unknown.length === 0 && missing.length === 0
    onCompared(isSame)
    if (isSame) return
    const cut = (list: readonly string[]) => list.slice(0, LOGGED_MAX).map(one => one.slice(0, 44))
    log.warn(
      { network, route, notConfigured: cut(unknown), notOfTheEngine: cut(missing) },
      'the engine has other tip accounts',
    )
  }

  const ask = async (): Promise<void> => {
    while (bucket.take() > 0) await sleep(RETRY_MS, undefined, { signal: stop.signal })
    const headers = { 'content-type': 'application/json' }
    const { body } = await upstream.send({ method: 'POST', path, headers, body: BODY })
    const accounts = toAccounts(body)
    if (accounts === undefined) log.info({ network, route }, 'the engine names no tip accounts')
    else compare(accounts)
  }

  const run = async (): Promise<void> => {
    for (;;) {
      try {
        if (intervals.take() === 0) await ask()
      } catch (error) {
        if (stop.signal.aborted) return
        // The upstream has logged it. The next interval tries again.
        log.info({ err: error, network, route }, 'tip accounts were not compared')
      }
      const pause = sleep(Math.min(tipCheckMs, TRY_MS), true, { signal: stop.signal, ref: false })
      if ((await pause.catch(() => undefined)) === undefined) return
    }
  }
  if (tipCheckMs > 0) void run()
  return { close: () => stop.abort() }
}
