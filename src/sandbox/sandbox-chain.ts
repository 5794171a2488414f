import { Chain, type ChainOptions, defaults as chainDefaults } from './chain/chain.js'
import { readDumps } from './chain/dumps.js'
import type { DevUpstream } from './http/dev-upstream.js'
import { type GeyserOptions, type GeyserServer, openGeyser } from './geyser/geyser.js'
import { openRpc, type RpcOptions } from './rpc/rpc.js'
import { deriveTips, fundTips, type Tips } from './upstreams/tips.js'
import { defaults as trafficDefaults, startTraffic } from './chain/traffic.js'
import { createWorld, type Samples, type World } from './chain/world.js'

/** Options of the sandbox chain with everything that belongs to it. */
export const defaults = {
  ...chainDefaults,
  /** One slot, as on mainnet. 0: no clock, only `chain.tick()` ends a slot. */
  slotMs: 400,
  /** Token transfers a second. */
  trafficPerSecond: trafficDefaults.perSecond,
}
export type SandboxChainOptions = typeof defaults & {
  /** Folder of account dumps to load into the first block. */
  readonly accountDir?: string
  readonly geyser?: Partial<GeyserOptions>
  readonly rpc?: Partial<RpcOptions>
}

/** A running chain with its feed. */
export type SandboxChain = {
  readonly samples: Samples
  readonly tips: Tips
  readonly world: World
  readonly geyserUrl: string
  readonly geyser: GeyserServer
  readonly rpc: DevUpstream
  readonly chain: Chain
  close(): Promise<void>
}

/** Ends slots on time. A late one is not made up for: slots would only bunch. */
const startClock = (chain: Chain, slotMs: number): (() => void) => {
  if (slotMs <= 0) return () => {}
  const timer = setInterval(() => chain.tick(), slotMs)
  return () => clearInterval(timer)
}

/**
 * Builds the first block (the virtual machine's accounts, the world, the dumps), closes it, and
 * runs. `now` in milliseconds since 1970. Throws DumpError, and what listening throws.
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
  const { seed, firstSlot, blockhashAgeMax, finalizedAfterSlots, faucetLamports } = {
    ...defaults,
    ...rest,
  }
  const chainOptions: ChainOptions = {
    seed,
    firstSlot,
    blockhashAgeMax,
    finalizedAfterSlots,
    faucetLamports,
  }
  const dumps = accountDir === undefined ? [] : readDumps(accountDir)
  const chain = new Chain(chainOptions, now)
  const geyser = await openGeyser(chain, geyserOptions, now)
  const rpc = await openRpc(chain, rpcOptions)
  chain.start()
  const world = createWorld(chain)
  const tips = deriveTips(seed)
  fundTips(chain, tips)
  // After the world, so that a dump wins over whatever else has its key.
  for (const { pubkey, state } of dumps) chain.load(pubkey, state)
  chain.tick()
  const stopClock = startClock(chain, slotMs ?? defaults.slotMs)
  const perSecond = trafficPerSecond ?? defaults.trafficPerSecond
  const stopTraffic = startTraffic(chain, world, { perSecond }, now)
  return {
    samples: world.samples,
    tips,
    world,
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
