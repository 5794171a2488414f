import { runJob } from '../child.js'
import type { Context } from '../context.js'
import type * as apply from './apply.js'

/** Design §9. */
const UPDATES_PER_SECOND = 100_000

/** Builds the store that everything else reads, which is row 6 of design §9. */
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
  const { single, backlog } = applied
  note(
    `blocks of ${history.changeBlockAccounts} changes of balances, uniform over ` +
      `${set.tokenAccountCount} token accounts; all indexes, each commit durable; every index ` +
      `recomputed and equal; ${Math.round(applied.usedBytes / 1e6)} MB`,
  )
  note(
    `one by one: ${single.commitCount} commits; backlog: ${backlog.commitCount} commits of up to ` +
      `${backlog.commitBlocks} blocks that waited (groupBlocksMax)`,
  )
  report({
    name: 'apply: updates of accounts, backlog',
    value: backlog.updatesPerSecond,
    unit: 'accounts/s',
    better: 'higher',
    target: UPDATES_PER_SECOND,
  })
  report({
    name: 'apply: updates of accounts, one by one',
    value: single.updatesPerSecond,
    unit: 'accounts/s',
    better: 'higher',
  })
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
