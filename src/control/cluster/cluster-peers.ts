import { readIdentity } from '../../cluster/identity.js'
import type { MachineDirectory } from '../../cluster/machine-directory.js'
import { PeerClient } from '../../cluster/peers/peer-client.js'
import { openPeerServer, type PeerRoute, type PeerStream } from '../../cluster/peers/peer-server.js'
import type { ControlConfig } from '../../config/child-config.js'
import { peerListeners } from '../../config/peer-listeners.js'
import type { Log } from '../../shared/log.js'
import type { Metrics } from '../../shared/metrics.js'
import type { SubmissionQuery } from '../../submission/relay/relay-types.js'
import { foundSubmissionSchema, type FoundSubmission } from '../../submission/store/submission.js'
import { submissionPath } from '../peer-routes.js'

type ClusterConfig = NonNullable<ControlConfig['cluster']>

/** What control reads of the other machines of its cluster. */
export type ClusterPeers = {
  readonly client: Pick<PeerClient, 'read' | 'readEach'>
  /** A submission to another machine of this machine's location; never rejects. */
  find(query: SubmissionQuery): Promise<FoundSubmission | undefined>
  close(): Promise<void>
}

export type ClusterPeersParts = {
  readonly directory: Pick<MachineDirectory, 'isCurrent' | 'find' | 'list' | 'untilKnown'>
  /** What they may read of this one. */
  readonly routes: readonly PeerRoute[]
  readonly streams: readonly PeerStream[]
  /** Descriptors of sockets that this process inherited and that listen, by `host:port`. */
  readonly listeners: Readonly<Record<string, number>>
  readonly log: Log
  readonly metrics: Metrics
}

/** Answers the other machines of the cluster, where they can reach this one, and reads of them. */
export const openClusterPeers = async (
  cluster: ClusterConfig,
  { directory, listeners, routes, streams, log, metrics }: ClusterPeersParts,
): Promise<ClusterPeers> => {
  const identity = readIdentity(cluster, cluster.machine, Date.now())
  const isMachine = (name: string): boolean =>
    directory.isCurrent && directory.find(name) !== undefined
  // Until then every machine would be refused. Calls wait in the queue of the socket.
  await directory.untilKnown(cluster.callMs)
  const servers = await Promise.all(
    peerListeners({ cluster }).map(({ host, port }) => {
      const address = { host, port, descriptor: listeners[`${host}:${port}`] }
      const options = cluster
      return openPeerServer({ ...address, identity, options, isMachine, routes, streams, log })
    }),
  )
  const client = new PeerClient({
    identity,
    machine: cluster.machine,
    directory,
    options: cluster,
    onCall: (machine, outcome) => metrics.counter('peerCalls', { machine, outcome }).add(1),
  })
  return {
    client,
    find: query => client.find(cluster.location, submissionPath(query), foundSubmissionSchema),
    close: async () => {
      client.close()
      await Promise.all(servers.map(server => server.close()))
    },
  }
}
