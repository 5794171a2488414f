import type { Config } from '../config/config.js'
import { edgeCountOf } from '../config/edge-count.js'
import { controlListeners, locationListeners } from '../config/listeners.js'
import type { ListeningAddress } from '../server/listening-sockets.js'

/** Where the processes of this machine listen on sockets that they inherit. */
export const listeningAddresses = (config: Config): readonly ListeningAddress[] => [
  ...locationListeners(config).map(({ host, port, option }) => ({
    host,
    port,
    option,
    count: edgeCountOf(config),
  })),
  ...controlListeners(config).map(({ host, port, option }) => ({ host, port, option, count: 1 })),
]
