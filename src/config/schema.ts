import * as v from 'valibot'
import { defaults as pools } from '../native/pool-options.js'
import { defaults as store } from '../native/store-options.js'
import { defaults as pubsub } from '../pubsub/options.js'
import { defaults as rpc } from '../rpc/options.js'
import { defaults as log, LEVELS } from '../shared/log.js'
import { defaults as metrics } from './metrics-options.js'
import { defaults as status } from '../storage/status-options.js'
import { defaults as verify } from '../storage/verify-options.js'
import { defaults as submissionStore } from '../submission/store/options.js'
import { accessSection } from './access.js'
import { bootstrapSection } from './bootstrap.js'
import { dashboardSection } from './dashboard.js'
import { location } from './location.js'
import { network } from './network.js'
import { integer, oneOf, optionsSchema, text } from './options-schema.js'
import { processesSection } from './processes.js'
import { product } from './product.js'
import { withRenamed } from './renamed.js'
import { serverSection } from './server.js'
import { described, host, mapBytes, peers, readersMax, section } from './validators.js'

const table = v.strictObject({
  dataDir: described(
    v.optional(text('a folder'), '.slotline'),
    'Folder of everything that is stored.',
  ),
  trustedProxies: described(
    v.optional(v.array(peers), []),
    'Peers whose PROXY header or X-Forwarded-For is trusted.',
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
  server: section(serverSection),
  rpc: section(
    optionsSchema(rpc, {
      nestingMax: integer(8, 127, 'levels'),
      // At most 128 MiB for each store that an edge reads.
      recentResultsMax: integer(0, 65_536, 'count'),
    }),
  ),
  store: section(
    optionsSchema(store, {
      mapBytes,
      readersMax,
      feedBytesMax: integer(0, Number.MAX_SAFE_INTEGER, 'bytes'),
    }),
  ),
  pools: section(
    optionsSchema(pools, {
      scanNiceness: integer(0, 19, 'niceness'),
      verifyNiceness: integer(0, 19, 'niceness'),
    }),
  ),
  access: section(accessSection),
  dashboard: section(dashboardSection),
  pubsub: section(
    optionsSchema(pubsub, {
      filtersMax: integer(1, 64, 'filters'),
      // Below 32 bits, with room for the frame of the largest account.
      chunkBytesMax: integer(64 * 1024, 1024 ** 3, 'bytes'),
    }),
  ),
  submissionStore: section(
    withRenamed(
      optionsSchema(submissionStore, {
        mapBytes,
        readersMax,
        // Each has a slot in a file that is mapped completely.
        inFlightMax: integer(1, 2_048, 'submissions'),
      }),
      { waitingMax: { to: 'bufferedMax' } },
    ),
  ),
  processes: section(processesSection),
  verify: section(optionsSchema(verify)),
  status: section(optionsSchema(status)),
  bootstrap: section(bootstrapSection),
  metrics: section(optionsSchema(metrics, { host })),
  log: section(optionsSchema(log, { level: oneOf(LEVELS) })),
})

/**
 * The whole file: every option with kind, bounds and default, and with its reason if no part
 * declares it.
 */
export const configSchema = withRenamed(table, { ledger: { to: 'submissionStore' } })

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The effective configuration: plain frozen data that can be sent to another process. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>
