import type { Reads, ReplyBytes, TipGroup } from '../../native/reads.js'
import type { FeeKind, PrepareFees } from '../../pubsub/subscription.js'
import { getPriorityFeeEstimate } from '../../rpc/methods/fees/get-priority-fee-estimate.js'
import { getTipPercentiles } from '../../rpc/methods/fees/get-tip-percentiles.js'
import { RpcError } from '../../shared/errors.js'

/** The methods whose answer is notified with each block. */
const METHODS = { priorityFee: getPriorityFeeEstimate, tip: getTipPercentiles }

/** Levels, or percentiles of 64 groups, are a tenth of it. */
const CHUNK_BYTES = 64 * 1024

const readWhole = async (reply: ReplyBytes): Promise<Buffer> => {
  if (reply instanceof Uint8Array) return Buffer.from(reply)
  try {
    const chunks: Buffer[] = []
    const into = Buffer.allocUnsafe(CHUNK_BYTES)
    for (;;) {
      const count = await reply.read(into)
      if (count === 0) return Buffer.concat(chunks)
      chunks.push(Buffer.from(into.subarray(0, count)))
    }
  } finally {
    reply.close()
  }
}

/** Reads nothing. */
const UNREAD = {
  feeEstimate: async () => new Uint8Array(0),
  tipPercentiles: async () => new Uint8Array(0),
}

/** Fees of one network, as its live store has them. */
export type Fees = {
  readonly prepare: PrepareFees
  /** The newest block. */
  slot(): number | undefined
  setReads(reads: Reads): void
}

const withSlot = (kind: FeeKind, slot: number, reply: Uint8Array): Uint8Array =>
  kind === 'tip'
    ? reply
    : Buffer.concat([Buffer.from(`{"context":{"slot":${slot}},"value":`), reply, Buffer.from('}')])

/** Answers subscriptions to fees by the methods of the same reads. */
export const openFees = (tipGroups: readonly TipGroup[]): Fees => {
  let reads: Reads | undefined
  const slot = (): number | undefined => reads?.block('confirmed')?.slot
  return {
    slot,
    setReads: next => {
      reads = next
    },
    prepare: (kind, params) => {
      const answer = METHODS[kind].prepare(params)
      const start = (rest: Partial<Reads> = {}): ReplyBytes | Promise<ReplyBytes> => {
        if (reads === undefined) throw new RpcError('noIndex')
        return answer({ ...reads, tipGroups, ...rest })
      }
      // Names of groups are checked by the call.
      void start(UNREAD)
      return async () => {
        // Of this block or, if it comes meanwhile, of the next.
        const at = slot() ?? 0
        return withSlot(kind, at, await readWhole(await start()))
      }
    },
  }
}
