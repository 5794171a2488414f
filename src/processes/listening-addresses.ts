import type { Config } from '../config/config.js'
import { edgeCountOf } from '../config/edge-count.js'
import { ownLocations } from '../config/own-locations.js'
import { peerListeners } from '../config/peer-listeners.js'
import { isServerCompiled } from '../native/os.js'
import type { ListeningAddress } from '../server/listening-sockets.js'

/** Where the processes of this machine listen on sockets that they inherit. */
export const listeningAddresses = (config: Config): readonly ListeningAddress[] => {
  const { dashboard, server } = config
  // The prebuilt server opens its own.
  const isInherited = server.library !== 'prebuilt' && isServerCompiled()
  const own = isInherited ? ownLocations(config).flatMap(({ listeners }) => listeners) : []
  return [
    ...own.map(({ host, port }) => ({ host, port, count: edgeCountOf(config) })),
    ...[dashboard, ...peerListeners(config)].map(({ host, port }) => ({ host, port, count: 1 })),
  ]
}
