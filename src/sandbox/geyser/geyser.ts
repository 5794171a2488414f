import type { Chain } from '../chain/chain.js'
import { createControl } from './control-command.js'
import { DeshredStreams } from './deshred-streams.js'
import type { FeedFaults } from './feed-faults.js'
import { defaults as logDefaults, FeedLog, LOST_OFFSET } from './feed-log.js'
import { defaults as streamDefaults, FeedStreams, type StreamsOptions } from './feed-streams.js'
import { GRPC_STATUS, type GrpcStatus } from './grpc-message.js'
import { openGrpcServer } from './grpc-server.js'
import { createUnaryMethods } from './unary-methods.js'

/** Options of the feed. */
export const defaults = {
  ...logDefaults,
  ...streamDefaults,
  /** Whether it has SubscribeDeshred, which many servers do not. */
  hasDeshred: true,
  /** Loopback only: the feed asks for no credential. */
  host: '127.0.0.1',
  /** 0 picks a free port. */
  port: 0,
  /** A request with very many addresses is below this. */
  requestBytesMax: 64 * 1024 * 1024,
}
export type GeyserOptions = typeof defaults & Pick<StreamsOptions, 'admit' | 'filters'>

/** The Yellowstone feed of a dev chain. */
export type GeyserServer = FeedFaults & {
  readonly url: string
  close(): Promise<void>
}

const UNAVAILABLE: GrpcStatus = {
  code: GRPC_STATUS.unavailable,
  details: 'the feed is shutting down',
}

/** Slots to one whose hash an orphan has; no chain of the sandbox gets so far. */
const ORPHAN_OFFSET = 1_000_000_000

/** Serves a chain as `geyser.Geyser`. Call it before `chain.start()`, to replay the genesis. */
export const openGeyser = async (
  chain: Chain,
  options: Partial<GeyserOptions> = {},
  now: () => number = Date.now,
): Promise<GeyserServer> => {
  const limits = { ...defaults, ...options }
  const log = new FeedLog(chain, limits, now)
  const streams = new FeedStreams(chain, log, limits, now)
  const deshred = new DeshredStreams(chain, now, limits)
  const faults: FeedFaults = {
    dropConnections: () => server.dropConnections(),
    dropStreams: (status = UNAVAILABLE) => {
      streams.drop(status)
      deshred.drop(status)
    },
    stall: ms => streams.stall(ms),
    burst: slots => streams.burst(slots),
    omitSlot: (slot, hidden = 'always') => log.omit(slot, hidden),
    forgeParent: slot => void log.faults.forgedParents.add(slot),
    doubleSlot: slot => void log.faults.doubled.add(slot),
    swapSlot: slot => void log.faults.swapped.add(slot),
    forkSlot: slot => void log.faults.forked.add(slot),
    orphanSlot: slot => {
      const blockhash = chain.blockhashOf(slot + ORPHAN_OFFSET)
      log.faults.orphaned.set(slot, blockhash)
      return blockhash
    },
    splitSlot: (slot, fault) => {
      if (fault === 'skipped') chain.skip(slot)
      log.faults.banks.set(slot, fault)
      return chain.blockhashOf(slot + LOST_OFFSET)
    },
    omitAccount: slot => void log.faults.shortened.add(slot),
    forgetReplay: () => void (log.faults.replayFloor = chain.slot),
    refuse: (status, count) => streams.refuse(status, count),
  }
  const server = await openGrpcServer(
    {
      control: createControl(faults, chain),
      unary: createUnaryMethods(chain, log),
      streaming: {
        '/geyser.Geyser/Subscribe': stream => streams.subscribe(stream),
        ...(limits.hasDeshred && {
          '/geyser.Geyser/SubscribeDeshred': stream => deshred.subscribe(stream),
        }),
      },
    },
    limits,
  )
  return {
    ...faults,
    url: `http://${limits.host}:${server.port}`,
    async close() {
      streams.close()
      deshred.close()
      await server.close()
    },
  }
}
