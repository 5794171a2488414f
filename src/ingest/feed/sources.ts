import type { Options, Plan, Target } from './geyser.js'
import { readAuthority } from '../accounts-rpc/read-authority.js'

/** A Yellowstone server, as the configuration has it. */
type Server = {
  readonly endpoint: string
  readonly xToken?: string | undefined
  readonly caFile?: string | undefined
  readonly plan?: Plan | undefined
}

/** A network's feed, as the configuration has it. */
export type FeedConfig = Server &
  Options & {
    readonly startSlot?: number | undefined
    readonly fallbacks: readonly Server[]
  }

/** A chain in place of the configured feed, which ends with the process that serves it. */
export type ChainOverride = {
  /** Differs from every earlier one: the network's store is replaced with it. */
  readonly id: string
  readonly endpoint: string
  readonly firstSlot: number
}

/** The servers of a network's feed in order, and what is requested of each. */
export type FeedSources = {
  readonly sources: readonly [Target, ...Target[]]
  /** Contains nothing of a single server: a secret of the first must not reach the second. */
  readonly bounds: Options
}

/** Reads the certificate files; throws if it cannot. */
export const toFeedSources = (
  { caFile, endpoint, fallbacks, startSlot, xToken, ...bounds }: FeedConfig,
  chain: ChainOverride | undefined,
): FeedSources => {
  if (chain !== undefined)
    return { bounds, sources: [{ endpoint: chain.endpoint, startSlot: chain.firstSlot }] }
  const toTarget = (server: Server, option: string): Target => ({
    endpoint: server.endpoint,
    ...(server.xToken === undefined ? {} : { xToken: server.xToken }),
    ...(server.caFile === undefined
      ? {}
      : { caCertificatePem: readAuthority(server.caFile, `${option}.caFile`) }),
    ...(server.plan === undefined ? {} : { plan: server.plan }),
    ...(startSlot === undefined ? {} : { startSlot }),
  })
  const first = toTarget({ caFile, endpoint, plan: bounds.plan, xToken }, 'networks.feed')
  const others = fallbacks.map(server => toTarget(server, 'networks.feed.fallbacks'))
  return { bounds, sources: [first, ...others] }
}
