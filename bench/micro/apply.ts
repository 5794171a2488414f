// Fills a store, then applies blocks of changes to it, as the indexer does: every index updated,
// every commit durable. First come blocks like those of mainnet, then larger ones of changes.
// The first ones are committed one by one, as by a feed without a backlog;
// the others wait in a queue, of which a commit takes what the indexer's options allow. The time
// of changes is that of the native indexer, which reads the feed itself.
import { defaults as feed } from '../../src/ingest/feed/geyser.js'
import { onStart } from '../child.js'
import type { DataSet, Spread } from '../data/data.js'
import { openIndexer, type Indexer } from '../../src/native/indexer.js'
import { STORE_OPTIONS } from '../options.js'
import { blocksOf, spreadOf, type Block, type History } from '../data/expected-state.js'

/** What to build, and where. */
export type Start = { readonly dir: string; readonly set: DataSet; readonly history: History }

/** Number of blocks of changes per durable commit. */
export type Commits = {
  readonly commitCount: number
  readonly commitBlocks: number
  readonly updatesPerSecond: number
  /** Of a commit, in ms. */
  readonly p50: number
  readonly p99: number
}

export type Applied = {
  /** Accounts that the store did not have, the call over the native boundary included. */
  readonly insertsPerSecond: number
  /** Blocks like those of mainnet, one by one. */
  readonly cluster: Commits
  readonly uniform: Pace
  readonly skewed: Pace
  readonly usedBytes: number
}

/** Changes of one spread, committed one by one and from a queue. */
export type Pace = { readonly single: Commits; readonly backlog: Commits }

/** One block in this many is committed alone; the rest is the backlog. */
const SINGLE_SHARE = 5

const commit = (indexer: Indexer, blocks: readonly Block[], commitBlocks: number): Commits => {
  const ms: number[] = []
  let updates = 0
  for (let from = 0; from < blocks.length; from += commitBlocks) {
    const group = blocks.slice(from, from + commitBlocks)
    ms.push(indexer.applyBlocks(group).micros / 1000)
    updates += group.reduce((sum, { accounts }) => sum + accounts.length, 0)
  }
  const total = ms.reduce((sum, each) => sum + each, 0)
  ms.sort((a, b) => a - b)
  const at = (share: number) => ms[Math.floor(ms.length * share)] ?? NaN
  return {
    commitCount: ms.length,
    commitBlocks: Math.min(commitBlocks, blocks.length),
    updatesPerSecond: (updates / total) * 1000,
    p50: at(0.5),
    p99: at(0.99),
  }
}

onStart<Start, Applied>(({ dir, set, history }) => {
  const indexer = openIndexer(dir, STORE_OPTIONS)
  const changes: Block[] = []
  const cluster: Block[] = []
  let inserted = 0
  let insertMs = 0
  for (const block of blocksOf(set, history)) {
    if (block.kind !== 'fill') {
      if (block.kind === 'cluster') cluster.push(block)
      else changes.push(block)
      continue
    }
    const from = performance.now()
    indexer.applyBlock(block)
    insertMs += performance.now() - from
    inserted += block.accounts.length
  }
  const paceOf = (spread: Spread): Pace => {
    const blocks = changes.filter((_, index) => spreadOf(history, index + 1) === spread)
    const singles = Math.ceil(blocks.length / SINGLE_SHARE)
    return {
      single: commit(indexer, blocks.slice(0, singles), 1),
      backlog: commit(indexer, blocks.slice(singles), feed.groupBlocksMax),
    }
  }
  const clusterCommits = commit(indexer, cluster, 1)
  const uniform = paceOf('uniform')
  const skewed = paceOf('skewed')
  const differences = indexer.check()
  if (differences.length > 0) throw new Error(`indexes are wrong: ${differences.join('; ')}`)
  const { usedBytes } = indexer.stats()
  indexer.close()
  const insertsPerSecond = (inserted / insertMs) * 1000
  return { insertsPerSecond, cluster: clusterCommits, uniform, skewed, usedBytes }
})
