import { connectEtcd } from '../../cluster/connection.js'
import { keysOf } from '../../cluster/keys.js'
import { readBeat } from '../../cluster/values.js'
import type { Config } from '../../config/config.js'

/** The plan of a bootstrap from a machine, which etcd knows. Throws if it cannot be called. */
export const findPeer = async (
  { cluster }: Config,
  machine: string,
): Promise<{ readonly kind: 'peer'; readonly machine: string; readonly url: string }> => {
  if (cluster === undefined) throw new Error('only a machine of a cluster has peers')
  if (machine === cluster.machine) throw new Error(`${machine} is this machine: name another one`)
  const etcd = await connectEtcd(cluster, cluster.machine)
  try {
    const { found } = await etcd.get(keysOf(cluster.id).beat(machine))
    const url = found && readBeat(found.value)?.peerUrl
    if (url !== undefined) return { kind: 'peer', machine, url }
    throw new Error(
      found === undefined
        ? `cluster ${cluster.id} has no machine ${machine} that has run`
        : `machine ${machine} has no cluster.peerUrl`,
    )
  } finally {
    etcd.close()
  }
}
