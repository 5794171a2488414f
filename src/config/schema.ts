import * as v from 'valibot'
import * as pools from '../native/pool-options.js'
import * as store from '../native/store-options.js'
import * as pubsub from '../pubsub/options.js'
import { defaults as rpcDefaults, options as rpcOptions } from '../rpc/options.js'
import * as server from '../server/options.js'
import * as log from '../shared/log-options.js'
import { defaults as status } from '../storage/status-options.js'
import { defaults as verify } from '../storage/verify-options.js'
import * as submissionStore from '../submission/store/options.js'
import { accessSection } from './sections/access.js'
import { bootstrapSection } from './sections/bootstrap.js'
import { clusterSection } from './sections/cluster.js'
import { dashboardSection } from './sections/dashboard.js'
import { location } from './sections/location.js'
import { metricsSection } from './sections/metrics.js'
import { network } from './sections/network/network.js'
import {
  defaults as processDefaults,
  options as processOptions,
} from './sections/process-options.js'
import { product } from './sections/product.js'
import {
  constantsTable,
  described,
  optionsTable,
  section,
  text,
} from './validators/options-schema.js'
import { filePath, peers } from './validators/validators.js'

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
  server: optionsTable(server),
  rpc: optionsTable({ defaults: rpcDefaults, options: rpcOptions }),
  store: optionsTable(store),
  pools: optionsTable(pools),
  access: section(accessSection),
  dashboard: section(dashboardSection),
  pubsub: optionsTable(pubsub),
  submissionStore: optionsTable(submissionStore),
  processes: optionsTable({ defaults: processDefaults, options: processOptions }),
  verify: constantsTable(verify),
  status: constantsTable(status),
  bootstrap: section(bootstrapSection),
  metrics: section(metricsSection),
  log: optionsTable(log),
})

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The effective configuration: plain frozen data that can be sent to another process. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>
