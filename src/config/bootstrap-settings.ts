import { readIdentity } from '../cluster/identity.js'
import type { IndexerConfig } from './child-config.js'
import type { BootstrapSettings } from '../ingest/bootstrap/network-bootstraps.js'
import { toStoreOptions } from '../storage/store-options.js'

/** The configuration of one network's bootstraps. Throws if it has no such network. */
export const toBootstrapSettings = (
  config: Pick<IndexerConfig, 'dataDir' | 'networks' | 'bootstrap' | 'store' | 'cluster'>,
  id: string,
): BootstrapSettings => {
  const { cluster } = config
  const network = config.networks.find(network => network.id === id)
  if (network === undefined) throw new Error(`no network ${id}`)
  return {
    dataDir: config.dataDir,
    network,
    options: config.bootstrap,
    storeOptions: toStoreOptions(config, id),
    diskReserveBytes: config.store.diskReserveBytes,
    peerIdentity: cluster && (() => readIdentity(cluster, cluster.machine, Date.now())),
  }
}
