import type { SenderConfig } from '../config/child-config.js'
import type { LaneStatus } from '../storage/sender-status.js'
import type { OnceParts } from '../submission/lander/send-once.js'
import { LaneRate } from '../submission/lanes/lane-rate.js'
import { openLane } from '../submission/lanes/open-lane.js'
import { RaceForwarder } from '../submission/race/forwarder.js'
import { createLaneMeter } from '../submission/race/lane-meter.js'
import { LaneWatch } from '../submission/race/lane-watch.js'
import type { RaceLane } from '../submission/race/race-lane.js'
import { Race } from '../submission/race/race.js'
import { createTokenBucket } from '../submission/relay/token-bucket.js'
import type { UpstreamModules } from '../upstream/named-upstream.js'

type Network = SenderConfig['networks'][number]

/** The lanes of one network. */
export type OpenRace = {
  readonly network: string
  readonly forwarder: RaceForwarder
  /** How each lane is. */
  status(): readonly LaneStatus[]
  /** Waits for what is in flight. */
  close(): Promise<void>
}

type RaceModules = UpstreamModules & {
  readonly records: OnceParts
  readonly onFault: (fault: unknown) => void
  /** `laneCount` words that outlive the process, zero at first. */
  readonly words: BigInt64Array
}

/** The lanes of all networks. */
export const laneCount = ({ networks }: Pick<SenderConfig, 'networks'>): number =>
  networks.reduce((sum, { lanes }) => sum + lanes.length, 0)

/** Opens the lanes of all networks that have one. */
export const openRaces = (
  { networks }: SenderConfig,
  modules: RaceModules,
): Promise<readonly OpenRace[]> => {
  let index = 0
  const opening = networks.map(network => {
    const first = index
    index += network.lanes.length
    return { network, first }
  })
  return Promise.all(
    opening
      .filter(({ network }) => network.lanes.length > 0)
      .map(({ network, first }) => openRace(network, first, modules)),
  )
}

const openRace = async (
  { id: network, lanes: configs }: Network,
  first: number,
  { onFault, records, words, ...modules }: RaceModules,
): Promise<OpenRace> => {
  const { metrics, now } = modules
  const lanes = await Promise.all(
    configs.map(async (config, at): Promise<RaceLane & { readonly watch: LaneWatch }> => {
      const { id, requestsPerSecondMax } = config
      const rate = { requestsPerSecondMax, requestsBurstMax: requestsPerSecondMax }
      const parts = { words, index: first + at, nowNs: process.hrtime.bigint }
      const bucket = createTokenBucket(rate, parts)
      const lane = await openLane(config, { ...modules, network })
      return {
        ...config,
        tipAddresses: new Set(config.tipAddresses),
        lane,
        rate: new LaneRate({ bucket, requestsPerSecondMax, now }),
        meter: createLaneMeter({ network, lane: id }, metrics),
        watch: new LaneWatch({
          ...{ network, id, lane, metrics, requestsPerSecondMax },
          unixMs: Date.now,
        }),
      }
    }),
  )
  const race = new Race({ lanes, now, onFault })
  return {
    network,
    forwarder: new RaceForwarder(race, records),
    status: () => lanes.map(({ watch }) => watch.status()),
    close: async () => {
      await race.drain()
      await Promise.all(lanes.map(({ lane }) => lane.close()))
    },
  }
}
