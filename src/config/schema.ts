import * as v from 'valibot'
import { accessSection } from './sections/access.js'
import { bootstrapSection } from './sections/bootstrap.js'
import { clusterSection } from './sections/cluster.js'
import { dashboardSection } from './sections/dashboard.js'
import { location } from './sections/location.js'
import { logSection } from './sections/log.js'
import { metricsSection } from './sections/metrics.js'
import { network } from './sections/network/network.js'
import { poolsSection } from './sections/pools.js'
import { processesSection } from './sections/processes.js'
import { product } from './sections/product.js'
import { pubsubSection } from './sections/pubsub.js'
import { rpcSection } from './sections/rpc.js'
import { serverSection } from './sections/server.js'
import { statusSection } from './sections/status.js'
import { storeSection } from './sections/store.js'
import { submissionStoreSection } from './sections/submission-store.js'
import { verifySection } from './sections/verify.js'
import { text } from './validators/options-schema.js'
import { described, filePath, peers, section } from './validators/validators.js'

/**
 * The whole file: every option with kind, bounds and default, and with its reason if no part
 * declares it.
 */
export const configSchema = v.strictObject({
  dataDir: described(
    v.optional(filePath(text('a folder'), 'made'), '.slotline'),
    'Folder of everything that is stored, relative to that of this file.',
  ),
  trustedProxies: described(
    v.optional(v.array(peers), []),
    'Peers whose X-Forwarded-For is trusted.',
  ),
  networks: described(
    v.pipe(v.array(network), v.minLength(1, 'at least one network')),
    'Chains that are indexed, each in its own store.',
  ),
  locations: described(
    v.pipe(v.array(location), v.minLength(1, 'at least one location')),
    'Where clients connect.',
  ),
  products: described(
    v.optional(v.array(product), []),
    'What accesses are granted of. Without a product no access can be granted.',
  ),
  cluster: described(
    v.optional(clusterSection),
    'The machines that share their accesses; absent on a machine by itself.',
  ),
  server: section(serverSection),
  rpc: section(rpcSection),
  store: section(storeSection),
  pools: section(poolsSection),
  access: section(accessSection),
  dashboard: section(dashboardSection),
  pubsub: section(pubsubSection),
  submissionStore: section(submissionStoreSection),
  processes: section(processesSection),
  verify: section(verifySection),
  status: section(statusSection),
  bootstrap: section(bootstrapSection),
  metrics: section(metricsSection),
  log: section(logSection),
})

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The effective configuration: plain frozen data that can be sent to another process. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>
