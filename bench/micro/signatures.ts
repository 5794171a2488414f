import { runJob } from '../child.js'
import type { Context } from '../context.js'
import type * as loop from './verify-loop.js'

/** Target of docs/performance.md. */
const SHARE = 0.95

/** Signature checks against a bare loop over the same signatures, and through the addon. */
export const benchSignatures = async ({ plan, report, note }: Context): Promise<void> => {
  const measured = await runJob<loop.Start, loop.Measured>('micro/verify-loop.js', {
    rounds: plan.nativeRepeats,
  })
  note(`batches of 16, one signer each; both loops in turn, medians of ${plan.nativeRepeats}`)
  report({
    name: 'signatures: checks against a bare loop',
    value: measured.ratio,
    unit: '×',
    better: 'higher',
    target: SHARE,
  })
  report({
    name: 'signatures: by one thread of the pool',
    value: measured.checkedPerSecond,
    unit: '/s',
    better: 'higher',
    detail: `bare loop ${Math.round(measured.barePerSecond)} /s of processor time`,
  })
  report({
    name: 'signatures: event loop for a batch of 16',
    value: measured.loopMicros,
    unit: 'µs',
    better: 'lower',
  })
}
