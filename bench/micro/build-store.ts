import { runJob } from '../child.js'
import type { Context } from '../context.js'
import {
  BLOCKS_PER_SECOND,
  USER_TRANSACTIONS,
  USER_WRITES,
  VOTE_WRITES,
} from '../data/expected-state.js'
import type * as apply from './apply.js'

/** Targets of docs/performance.md. */
const UPDATES_PER_SECOND = 100_000
const CLUSTER_BLOCK_MS = 100

/** Builds the store that everything else reads, and measures how fast blocks are applied. */
export const buildStore = async ({
  plan: { set, history },
  storeDir,
  report,
  note,
}: Pick<Context, 'plan' | 'storeDir' | 'report' | 'note'>): Promise<void> => {
  const applied = await runJob<apply.Start, apply.Applied>('micro/apply.js', {
    dir: storeDir,
    set,
    history,
  })
  note(
    `blocks of ${history.changeBlockAccounts} changes of balances among ` +
      `${set.tokenAccountCount} token accounts; all indexes, each commit durable; every index ` +
      `recomputed and equal; ${Math.round(applied.usedBytes / 1e6)} MB`,
  )
  note('uniform: evenly over all; skewed: 90 % of the changes on 2 % of the accounts')
  const { cluster } = applied
  note(
    `mainnet: ${cluster.commitCount} commits of one block of ${USER_TRANSACTIONS} user ` +
      `transactions, which write ${USER_WRITES} accounts, and ${VOTE_WRITES} vote accounts ` +
      `without a signature: ${BLOCKS_PER_SECOND} a second, with no vote transactions`,
  )
  report({
    name: 'apply: a block like those of mainnet, p50',
    value: cluster.p50,
    unit: 'ms',
    better: 'lower',
  })
  report({
    name: 'apply: a block like those of mainnet, p99',
    value: cluster.p99,
    unit: 'ms',
    better: 'lower',
    target: CLUSTER_BLOCK_MS,
    isTail: true,
  })
  const { single } = applied.uniform
  for (const spread of ['uniform', 'skewed'] as const) {
    const pace = applied[spread]
    note(
      `${spread}: ${pace.single.commitCount} commits of one block; backlog: ` +
        `${pace.backlog.commitCount} commits of up to ${pace.backlog.commitBlocks} blocks that ` +
        `waited (groupBlocksMax)`,
    )
    report({
      name: `apply: updates of accounts, ${spread}, backlog`,
      value: pace.backlog.updatesPerSecond,
      unit: 'accounts/s',
      better: 'higher',
      target: UPDATES_PER_SECOND,
    })
    report({
      name: `apply: updates of accounts, ${spread}, one by one`,
      value: pace.single.updatesPerSecond,
      unit: 'accounts/s',
      better: 'higher',
    })
  }
  report({
    name: 'apply: new accounts',
    value: applied.insertsPerSecond,
    unit: 'accounts/s',
    better: 'higher',
  })
  report({ name: 'apply: one block, p50', value: single.p50, unit: 'ms', better: 'lower' })
  report({
    name: 'apply: one block, p99',
    value: single.p99,
    unit: 'ms',
    better: 'lower',
    isTail: true,
  })
}
