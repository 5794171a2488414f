import type { Config } from '../config/config.js'
import { edgeCountOf, edgeSlotsOf } from '../config/edge-count.js'
import {
  controlListeners,
  grpcListeners,
  locationListeners,
  quicListeners,
} from '../config/listeners.js'
import type { ListeningAddress } from '../server/listening-sockets.js'

/** Where the processes of this machine listen on sockets that they inherit. */
export const listeningAddresses = (config: Config): readonly ListeningAddress[] => [
  ...locationListeners(config).map(({ host, port, option }) => ({
    host,
    port,
    option,
    count: edgeCountOf(config),
  })),
  // One for each slot, so that the packets of an edge never reach its successor.
  ...quicListeners(config).map(({ host, port, protocol, option }) => ({
    host,
    port,
    protocol,
    option,
    count: edgeSlotsOf(config),
  })),
  ...[...controlListeners(config), ...grpcListeners(config)].map(({ host, port, option }) => ({
    host,
    port,
    option,
    count: 1,
  })),
]
