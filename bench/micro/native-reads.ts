import type { Context } from '../context.js'
import { runJob } from '../child.js'
import { PAGE_LIMIT_MAX } from '../options.js'
import type * as reads from './reads.js'

/** Targets of docs/performance.md. */
const PAGE_MS = 15
const SCAN_MICROS = 0.15

/** Pages, scans and point reads of the native store reader. */
export const benchNativeReads = async ({
  plan,
  expected,
  storeDir,
  report,
  note,
}: Context): Promise<void> => {
  const measured = await runJob<reads.Start, reads.Measured>('micro/reads.js', {
    dir: storeDir,
    set: expected.set,
    history: plan.history,
    pageLimit: PAGE_LIMIT_MAX,
    repeats: plan.nativeRepeats,
    pointMs: plan.pointMs,
  })
  note(`one reader in one process, warm; medians of ${plan.nativeRepeats} reads`)
  for (const [nth, [name, value]] of Object.entries(measured.pageMs).entries())
    report({
      name: `native: page of ${PAGE_LIMIT_MAX}, ${name}`,
      value,
      unit: 'ms',
      better: 'lower',
      // The target is of the first: accounts in the order of their keys.
      ...(nth === 0 ? { target: PAGE_MS } : {}),
    })
  report({
    name: 'native: scan with a filter, per account',
    value: measured.scanMicrosPerAccount,
    unit: 'µs',
    better: 'lower',
    target: SCAN_MICROS,
  })
  for (const [name, value] of Object.entries(measured.pointMicros))
    report({ name: `native: ${name}`, value, unit: 'µs', better: 'lower' })
}
