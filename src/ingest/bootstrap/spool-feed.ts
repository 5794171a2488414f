import type { Log } from '../../shared/log.js'
import { startGeyser, type GeyserIndexer } from '../feed/geyser.js'
import type { FeedHealth, FeedSource } from '../feed/source.js'
import type { FeedSources } from '../feed/sources.js'

/** What the feed of a spool works with. */
export type SpoolFeedParts = {
  readonly feed: FeedSources
  readonly log: Log
  readonly network: string
  /** Index of the server that the live store is fed from. */
  readonly sourceIndex: () => number
}

/** Feeds a spool, from the live head without `startSlot`. */
export const startSpoolFeed = (
  spool: GeyserIndexer,
  startSlot: number | undefined,
  { feed: { bounds, sources }, log, network, sourceIndex }: SpoolFeedParts,
): FeedSource => {
  let index = sourceIndex()
  const start = (): FeedSource => {
    // Its start slot is for an empty store, not for a bootstrap.
    const { startSlot: _startSlot, ...source } = sources[index] ?? sources[0]
    return startGeyser(
      spool,
      { ...bounds, ...source, ...(startSlot === undefined ? {} : { startSlot }) },
      {
        committed: () => {},
        // Has a log line of its own.
        interrupted: () => {},
        footers: () => {},
        health: (health: FeedHealth) => {
          if (!health.isHealthy)
            log.warn({ reason: health.reason }, 'the feed of a bootstrap is unhealthy')
        },
        log: line => log[line.level]({ network }, `bootstrap: ${line.text}`),
      },
    )
  }
  let feed = start()
  return {
    // Polled by the bootstrap until the subscription belongs to the new store.
    health: () => {
      const next = sourceIndex()
      if (next !== index && !feed.health().isHealthy) {
        feed.stop()
        index = next
        feed = start()
      }
      return feed.health()
    },
    stop: () => feed.stop(),
  }
}
