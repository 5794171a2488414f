import bs58 from 'bs58'
import type { Commitment } from '../chain/block.js'
import type { Chain } from '../chain/chain.js'
import type { FeedLog } from './feed-log.js'
import { GRPC_STATUS, GrpcError } from './grpc-message.js'
import { decodeFields, type Field, MessageWriter, ProtobufError } from './protobuf.js'
import { AGAVE_VERSION } from '../solana/agave-version.js'
import { COMMITMENT } from './request.js'

const VERSION = JSON.stringify({
  version: { package: 'slotline-sandbox', version: '0.1.0', proto: '14', solana: AGAVE_VERSION },
  extra: {},
})

type Unary = (request: readonly Field[]) => MessageWriter

const find = (fields: readonly Field[], number: number): Field | undefined =>
  fields.findLast(field => field.number === number)

const toCommitment = (field: Field | undefined): Commitment =>
  Number(field?.varint ?? 0n) === COMMITMENT.finalized ? 'finalized' : 'confirmed'

const createMethods = (chain: Chain, log: FeedLog): Readonly<Record<string, Unary>> => ({
  Ping: fields => new MessageWriter(16).uint(1, find(fields, 1)?.varint ?? 0n),
  GetVersion: () => new MessageWriter().string(1, VERSION),
  GetSlot: fields =>
    new MessageWriter(16).uint(1, chain.blockAt(toCommitment(find(fields, 1))).slot),
  GetBlockHeight: fields =>
    new MessageWriter(16).uint(1, chain.blockAt(toCommitment(find(fields, 1))).blockHeight),
  GetLatestBlockhash: fields => {
    const latest = chain.latestBlockhash(toCommitment(find(fields, 1)))
    return new MessageWriter()
      .uint(1, latest.slot)
      .string(2, latest.blockhash)
      .uint(3, latest.lastValidBlockHeight)
  },
  IsBlockhashValid: fields => {
    const blockhash = bs58.decodeUnsafe(Buffer.from(find(fields, 1)?.bytes ?? []).toString())
    const commitment = toCommitment(find(fields, 2))
    const isValid = blockhash !== undefined && chain.isBlockhashValid(blockhash, commitment)
    return new MessageWriter(16).uint(1, chain.blockAt(commitment).slot).bool(2, isValid)
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
