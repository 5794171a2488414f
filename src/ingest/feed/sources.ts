import type { Config } from '../../config/config.js'
import type { Options, Target } from './geyser.js'
import { readAuthority } from '../accounts-rpc/read-authority.js'

/** A chain in place of the configured feed, which lives only as long as the process that serves it. */
export type ChainOverride = {
  /** Differs from every earlier one: the network's store is replaced with it. */
  readonly id: string
  readonly endpoint: string
  readonly firstSlot: number
}

type Feed = Config['networks'][number]['feed']

/** The servers that a network's feed is read from, in order, and what is asked of each. */
export type FeedSources = {
  readonly sources: readonly [Target, ...Target[]]
  /** Holds nothing of any one server: a secret of the first must not reach the second. */
  readonly bounds: Options
}

/** Reads the certificate files; throws where it cannot. */
export const toFeedSources = (feed: Feed, chain: ChainOverride | undefined): FeedSources => {
  const {
    caFile: _file,
    endpoint: _endpoint,
    fallbacks,
    startSlot,
    xToken: _token,
    ...bounds
  } = feed
  const toTarget = (
    { caFile, endpoint, plan, xToken }: Feed['fallbacks'][number],
    option = 'networks.feed.fallbacks',
  ): Target => ({
    endpoint,
    ...(xToken === undefined ? {} : { xToken }),
    ...(caFile === undefined
      ? {}
      : { caCertificatePem: readAuthority(caFile, `${option}.caFile`) }),
    ...(plan === undefined ? {} : { plan }),
    ...(startSlot === undefined ? {} : { startSlot }),
  })
  if (chain === undefined)
    return {
      bounds,
      sources: [toTarget(feed, 'networks.feed'), ...fallbacks.map(one => toTarget(one))],
    }
  const { endpoint, firstSlot } = chain
  return { bounds, sources: [{ endpoint, startSlot: firstSlot }] }
}
