import { Chain, type ChainOptions, defaults as chainDefaults } from './chain/chain.js'
import { readDumps } from './chain/dumps.js'
import type { DevUpstream } from './http/dev-upstream.js'
import { type GeyserOptions, type GeyserServer, openGeyser } from './geyser/geyser.js'
import { openRpc, type RpcOptions } from './rpc/rpc.js'
import { deriveTips, fundTips, type Tips } from './upstreams/tips.js'
import { defaults as trafficDefaults, startTraffic } from './chain/traffic.js'
import { createSampleAccounts, type Samples, type SampleAccounts } from './chain/sample-accounts.js'

/** Options of the dev chain with its feed, RPC and traffic. */
export const defaults = {
  ...chainDefaults,
  /** Slot time, as on mainnet. 0: no clock, only `chain.tick()` ends a slot. */
  slotMs: 200,
  /** Token transfers a second. */
  trafficPerSecond: trafficDefaults.perSecond,
}
export type SandboxChainOptions = typeof defaults & {
  /** Folder of account dumps to load into the first block. */
  readonly accountDir?: string
  readonly geyser?: Partial<GeyserOptions>
  readonly rpc?: Partial<RpcOptions>
}

/** A running chain with its feed and RPC. */
export type SandboxChain = {
  readonly samples: Samples
  readonly tips: Tips
  readonly sampleAccounts: SampleAccounts
  readonly geyserUrl: string
  readonly geyser: GeyserServer
  readonly rpc: DevUpstream
  readonly chain: Chain
  close(): Promise<void>
}

/** Ends slots by a timer. Late slots are not caught up. */
const startClock = (chain: Chain, slotMs: number): (() => void) => {
  if (slotMs <= 0) return () => {}
  const timer = setInterval(() => chain.tick(), slotMs)
  return () => clearInterval(timer)
}

/**
 * Builds and closes the first block (built-in accounts, sample accounts, dumps), then starts the
 * clock. `now` in milliseconds since 1970. Throws DumpError; rejects if a port is taken.
 */
export const startSandboxChain = async (
  options: Partial<SandboxChainOptions> = {},
  now: () => number = Date.now,
): Promise<SandboxChain> => {
  const {
    slotMs,
    trafficPerSecond,
    accountDir,
    geyser: geyserOptions,
    rpc: rpcOptions,
    ...rest
  } = options
  const chainOptions: Partial<ChainOptions> = rest
  const dumps = accountDir === undefined ? [] : readDumps(accountDir)
  const chain = new Chain(chainOptions, now)
  const geyser = await openGeyser(chain, geyserOptions, now)
  const rpc = await openRpc(chain, rpcOptions)
  chain.start()
  const sampleAccounts = createSampleAccounts(chain)
  const tips = deriveTips(chain.options.seed)
  fundTips(chain, tips)
  // Last, so that a dump replaces any account with the same address.
  for (const { pubkey, state } of dumps) chain.load(pubkey, state)
  chain.tick()
  const stopClock = startClock(chain, slotMs ?? defaults.slotMs)
  const perSecond = trafficPerSecond ?? defaults.trafficPerSecond
  const stopTraffic = startTraffic(chain, sampleAccounts, { perSecond }, now)
  return {
    samples: sampleAccounts.samples,
    tips,
    sampleAccounts,
    geyserUrl: geyser.url,
    geyser,
    rpc,
    chain,
    async close() {
      stopTraffic()
      stopClock()
      await Promise.all([geyser.close(), rpc.close()])
    },
  }
}
