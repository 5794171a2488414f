import { formatPath } from './options.js'
import { ownLocations } from './own-locations.js'
import { peerListeners } from './peer-listeners.js'
import type { Config } from './schema.js'

/** Where this machine listens. */
export type ConfiguredListener = {
  readonly host: string
  readonly port: number
  /** Absent is TCP. */
  readonly protocol?: 'udp' | undefined
  /** What listens there, in errors. */
  readonly user: string
  /** Path of the table or option that sets it. */
  readonly keys: readonly string[]
  /** The option with its port. */
  readonly option: string
}

const toListener = (
  { host, port }: { readonly host: string; readonly port: number },
  user: string,
  keys: readonly string[],
  option = keys,
): ConfiguredListener => ({ host, port, user, keys, option: formatPath(option) })

/** Where this machine listens for clients of its locations. */
export const locationListeners = (config: Config): readonly ConfiguredListener[] => {
  const own = ownLocations(config)
  return config.locations.flatMap((location, index) =>
    (own.includes(location) ? location.listeners : []).map((listener, at) => {
      const keys = ['locations', String(index), 'listeners', String(at)]
      return toListener(listener, `location ${location.id}`, keys, [...keys, 'port'])
    }),
  )
}

/** Where it listens for transactions over QUIC: at the addresses of some of these listeners. */
export const quicListeners = (config: Config): readonly ConfiguredListener[] => {
  const own = ownLocations(config)
  return config.locations.flatMap((location, index) =>
    (own.includes(location) ? quicAddresses(location) : []).map(({ at, ...address }) => {
      const keys = ['locations', String(index), 'listeners', String(at)]
      const user = `QUIC of location ${location.id}`
      return { ...toListener(address, user, keys, [...keys, 'quicPort']), protocol: 'udp' }
    }),
  )
}

/** The UDP addresses of a location, each with the position of its listener. */
export const quicAddresses = ({ listeners }: Pick<Config['locations'][number], 'listeners'>) =>
  listeners.flatMap(({ host, quicPort: port }, at) =>
    port === undefined ? [] : [{ host, port, protocol: 'udp' as const, at }],
  )

/** Where it listens for Yellowstone gRPC: at the addresses of some of these listeners. */
export const grpcListeners = (config: Config): readonly ConfiguredListener[] => {
  const own = ownLocations(config)
  return config.locations.flatMap((location, index) =>
    (own.includes(location) ? grpcAddresses(location) : []).map(({ at, ...address }) => {
      const keys = ['locations', String(index), 'listeners', String(at)]
      return toListener(address, `gRPC of location ${location.id}`, keys, [...keys, 'grpcPort'])
    }),
  )
}

/** The addresses of gRPC of a location, each with the position of its listener. */
export const grpcAddresses = ({ listeners }: Pick<Config['locations'][number], 'listeners'>) =>
  listeners.flatMap(({ host, grpcPort: port }, at) =>
    port === undefined ? [] : [{ host, port, at }],
  )

/** Where this machine listens for operators, for customers in a browser, and for other machines. */
export const controlListeners = (config: Config): readonly ConfiguredListener[] => [
  toListener(config.dashboard, 'the dashboard', ['dashboard', 'port']),
  ...peerListeners(config).map(listener =>
    toListener(
      listener,
      'other machines',
      ['cluster', 'peerUrl'],
      ['cluster', config.cluster?.peerListen === undefined ? 'peerUrl' : 'peerListen'],
    ),
  ),
]

/** Where the metrics page listens. */
export const metricsListener = (config: Config): ConfiguredListener =>
  toListener(config.metrics, 'metrics', ['metrics', 'port'])

/** Every address that the service of this machine listens on. */
export const listenersOf = (config: Config): readonly ConfiguredListener[] => [
  metricsListener(config),
  ...controlListeners(config),
  ...locationListeners(config),
  ...quicListeners(config),
  ...grpcListeners(config),
]
