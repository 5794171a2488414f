import bs58 from 'bs58'
import type { Chain } from '../chain/chain.js'
import type { FeedLog } from './feed-log.js'
import { GRPC_STATUS, GrpcError } from './grpc-message.js'
import { decodeFields, type Field, MessageWriter, ProtobufError } from './protobuf.js'
import { COMMITMENT } from './request.js'

const VERSION = JSON.stringify({
  version: { package: 'slotline-sandbox', version: '0.1.0', proto: '14', solana: 'litesvm 1.5.0' },
  extra: {},
})

type Unary = (request: readonly Field[]) => MessageWriter

const find = (fields: readonly Field[], number: number): Field | undefined =>
  fields.findLast(field => field.number === number)

/** The newest block at a commitment; the parent of the first block before anything is final. */
const blockAt = (chain: Chain, commitment: Field | undefined) => {
  const { slot, blockHeight } = chain.tip
  if (Number(commitment?.varint ?? 0n) !== COMMITMENT.finalized) return { slot, blockHeight }
  const { finalizedAfterSlots, firstSlot } = chain.options
  const depth = Math.min(finalizedAfterSlots, slot - firstSlot + 1)
  return { slot: slot - depth, blockHeight: blockHeight - depth }
}

const createMethods = (chain: Chain, log: FeedLog): Readonly<Record<string, Unary>> => ({
  Ping: fields => new MessageWriter(16).uint(1, find(fields, 1)?.varint ?? 0n),
  GetVersion: () => new MessageWriter().string(1, VERSION),
  GetSlot: fields => new MessageWriter(16).uint(1, blockAt(chain, find(fields, 1)).slot),
  GetBlockHeight: fields =>
    new MessageWriter(16).uint(1, blockAt(chain, find(fields, 1)).blockHeight),
  GetLatestBlockhash: fields => {
    const { slot, blockHeight } = blockAt(chain, find(fields, 1))
    return new MessageWriter()
      .uint(1, slot)
      .string(2, chain.blockhashOf(slot))
      .uint(3, blockHeight + chain.options.blockhashAgeMax)
  },
  IsBlockhashValid: fields => {
    const blockhash = bs58.decodeUnsafe(Buffer.from(find(fields, 1)?.bytes ?? []).toString())
    const isValid = blockhash !== undefined && chain.isBlockhashValid(blockhash)
    return new MessageWriter(16).uint(1, blockAt(chain, find(fields, 2)).slot).bool(2, isValid)
  },
  SubscribeReplayInfo: () => new MessageWriter(16).uintAlways(1, log.oldestSlot),
})

const toHandler =
  (answer: Unary) =>
  (request: Buffer): Buffer => {
    try {
      return answer(decodeFields(request)).finish()
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error
      throw new GrpcError(GRPC_STATUS.invalidArgument, error.message)
    }
  }

/** The unary methods of `geyser.Geyser`, by path. */
export const createUnaryMethods = (
  chain: Chain,
  log: FeedLog,
): Readonly<Record<string, (request: Buffer) => Buffer>> =>
  Object.fromEntries(
    Object.entries(createMethods(chain, log)).map(([name, answer]) => [
      `/geyser.Geyser/${name}`,
      toHandler(answer),
    ]),
  )
