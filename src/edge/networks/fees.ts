import type { Reads, ReplyBytes, TipGroup } from '../../native/reads.js'
import type { PrepareFees } from '../../pubsub/subscription.js'
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

/** Where the slot is in a reply. */
const SLOT_AT = '{"context":{"slot":'.length

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

/** The slot of a reply that begins with its context. */
const slotOf = (reply: Buffer): number =>
  Number.parseInt(reply.toString('latin1', SLOT_AT, SLOT_AT + 20))

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
        const { feeEstimate } = { ...reads, ...rest }
        return answer({
          ...reads,
          tipGroups,
          ...rest,
          feeEstimate: (query, owner) => feeEstimate({ ...query, hasContext: true }, owner),
        })
      }
      // Names of groups are checked by the call.
      void start(UNREAD)
      return async () => {
        const result = await readWhole(await start())
        return { slot: slotOf(result), result }
      }
    },
  }
}
