// Fills a store, then applies blocks of changes to it, as the indexer does: every index kept, every
// commit durable. The time is of `applyBlock` alone, the way over the native boundary included; the
// feed hands its blocks over inside the kernel and saves that.
import { onStart } from '../child.js'
import type { DataSet } from '../data.js'
import { openIndexer } from '../../src/shared/native.js'
import { STORE_OPTIONS } from '../options.js'
import { blocksOf, type History } from '../world.js'

/** What to build, and where. */
export type Start = { readonly dir: string; readonly set: DataSet; readonly history: History }

export type Applied = {
  /** Accounts that the store did not have. */
  readonly insertsPerSecond: number
  /** Accounts that it had. */
  readonly updatesPerSecond: number
  /** Durable commits of a block of changes, in ms. */
  readonly blockP50: number
  readonly blockP99: number
  readonly usedBytes: number
}

onStart<Start, Applied>(({ dir, set, history }) => {
  const indexer = openIndexer(dir, STORE_OPTIONS)
  let inserted = 0
  let insertMs = 0
  const changeMs: number[] = []
  for (const { isFill, ...block } of blocksOf(set, history)) {
    const from = performance.now()
    indexer.applyBlock(block)
    const ms = performance.now() - from
    if (isFill) {
      inserted += block.accounts.length
      insertMs += ms
    } else changeMs.push(ms)
  }
  const differences = indexer.check()
  if (differences.length > 0) throw new Error(`indexes are wrong: ${differences.join('; ')}`)
  const { usedBytes } = indexer.stats()
  indexer.close()
  const total = changeMs.reduce((sum, ms) => sum + ms, 0)
  changeMs.sort((a, b) => a - b)
  const at = (share: number) => changeMs[Math.floor(changeMs.length * share)] ?? NaN
  return {
    insertsPerSecond: (inserted / insertMs) * 1000,
    updatesPerSecond: ((history.changeBlocks * history.changeBlockAccounts) / total) * 1000,
    blockP50: at(0.5),
    blockP99: at(0.99),
    usedBytes,
  }
})
