import * as v from 'valibot'
import { defaults as authenticate } from '../access/authenticate.js'
import { defaults as productLimits } from '../access/accesses/product-options.js'
import { defaults as limits } from '../access/limiter/access-limiter.js'
import { defaults as accessStore } from '../access/store/store.js'
import { defaults as usage } from '../access/usage/usage.js'
import { bootstrapSection } from './bootstrap.js'
import { dashboardSection } from './dashboard.js'
import { network } from './network.js'
import { described, host, id, mapBytes, origin, peers, readersMax, section } from './validators.js'
import { defaults as processes } from './process-options.js'
import { defaults as status } from '../storage/status-options.js'
import { defaults as verify } from '../storage/verify-options.js'
import { defaults as pubsub } from '../pubsub/options.js'
import { defaults as rpc } from '../rpc/options.js'
import { COMPRESSIONS, defaults as serverAll } from '../server/options.js'
import { defaults as log, LEVELS } from '../shared/log.js'
import { defaults as metrics } from '../shared/metrics-options.js'
import { integer, oneOf, optionsSchema, port, text } from './options-schema.js'
import { withRenamed } from './renamed.js'
import { defaults as pools } from '../native/pool-options.js'
import { defaults as store } from '../native/store-options.js'
import { defaults as ledger } from '../submission/store/options.js'

// Stands at the top of the file: WebSockets and the dashboard will believe the same peers.
const { trustedProxies: _proxies, ...server } = serverAll

const product = v.strictObject({
  id: described(id, 'Name of the product in accesses.'),
  name: described(text(), 'What people call it.'),
  kind: described(
    v.optional(oneOf(['node-access']), 'node-access'),
    'What it is: RPC, WebSocket and submission on networks.',
  ),
  networks: described(v.optional(v.array(id)), 'Networks that it offers; absent is every one.'),
  locations: described(v.optional(v.array(id)), 'Locations that it offers; absent is every one.'),
  limits: described(
    v.optional(optionsSchema(productLimits), {}),
    'What each access of it may use at once, over all edges of the machine. Copied into an access when it is granted.',
  ),
})

const listener = v.strictObject({
  host: described(host, 'Address to listen on.'),
  port: described(port, 'Port to listen on.'),
})

const location = v.strictObject({
  id: described(id, 'Name of the location. Its tokens open no other.'),
  name: described(text(), 'What people call it.'),
  publicUrl: described(
    v.optional(origin),
    'Where clients find the location, to make its URLs of; absent is its first listener by plain HTTP.',
  ),
  streamingTargets: described(
    v.optional(
      v.array(
        v.strictObject({
          name: described(text(), 'What people call it.'),
          url: described(text('a URL'), 'Shown as it stands here.'),
        }),
      ),
      [],
    ),
    'Further services of the location, shown beside its URLs.',
  ),
  listeners: described(
    v.pipe(v.array(listener), v.minLength(1, 'at least one listener')),
    'Where requests for this location arrive.',
  ),
})

/**
 * The whole file: every key, its kind, its bounds, its default, and for our own keys the reason.
 */
export const configSchema = v.strictObject({
  dataDir: described(
    v.optional(text('a folder'), '.slotline'),
    'Everything that is stored lies in here.',
  ),
  trustedProxies: described(
    v.optional(v.array(peers), []),
    'Peers whose PROXY header or X-Forwarded-For is believed; nobody else’s is.',
  ),
  networks: described(
    v.pipe(v.array(network), v.minLength(1, 'at least one network')),
    'Chains that are indexed, each with a store of its own.',
  ),
  locations: described(
    v.pipe(v.array(location), v.minLength(1, 'at least one location')),
    'Places that clients connect to.',
  ),
  products: described(
    v.optional(v.array(product), []),
    'What accesses are granted of. Without one, none can be granted.',
  ),
  server: section(
    withRenamed(
      optionsSchema(server, {
        // The range that uWebSockets.js accepts; its timers have steps of 4 s.
        socketIdleSeconds: integer(8, 960, 'seconds'),
        socketReadBytesMax: integer(1024, 2 ** 30, 'bytes'),
        socketsQueuedBytesMax: integer(1024 ** 2, 2 ** 30, 'bytes'),
        socketCompression: oneOf(COMPRESSIONS),
      }),
      {
        pieceBytes: { to: 'chunkBytes' },
        piecesKeptMax: { to: 'chunksPooledMax' },
        backlogProbeBytes: { to: 'unreadProbeBytes' },
        backlogProbesMax: { to: 'unreadProbesMax' },
        backlogForgetMs: { to: 'unreadForgetMs' },
      },
    ),
  ),
  rpc: section(
    optionsSchema(rpc, {
      nestingMax: integer(8, 127, 'levels'),
      // 128 MiB at most, for each store that an edge reads.
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
  access: section(
    v.strictObject({
      keyFile: described(
        v.optional(v.string('a file'), ''),
        'Key that tokens are sealed with, made at the first start. Empty is `access.key` in `dataDir`. Back it up apart from the store.',
      ),
      adminTokenFile: described(
        v.optional(v.string('a file'), ''),
        'Bearer token of the admin API, made at the first start. Empty is `admin.token` in `dataDir`.',
      ),
      store: section(optionsSchema(accessStore, { mapBytes, readersMax })),
      authenticate: section(optionsSchema(authenticate)),
      limits: section(optionsSchema(limits)),
      usage: section(optionsSchema(usage)),
    }),
  ),
  dashboard: section(dashboardSection),
  pubsub: section(
    optionsSchema(pubsub, {
      filtersMax: integer(1, 64, 'filters'),
      // What the kernel keeps as 32 bits, with room for the largest account's frame beyond it.
      chunkBytesMax: integer(64 * 1024, 1024 ** 3, 'bytes'),
    }),
  ),
  ledger: section(
    optionsSchema(ledger, {
      mapBytes,
      readersMax,
      // Each has its place in a file that is mapped as a whole.
      inFlightMax: integer(1, 2_048, 'submissions'),
    }),
  ),
  processes: section(
    withRenamed(
      optionsSchema(processes, {
        edgeCount: integer(0, 256, 'count'),
        edgeSliceMicros: integer(0, 100_000, 'microseconds'),
        unsentBytesMax: integer(4_096, 2 ** 31 - 1, 'bytes'),
        // At least the largest valid submission, at most what is cheap to copy.
        submissionBytesMax: integer(22 * 1024, 1024 ** 2, 'bytes'),
      }),
      { keepsAwake: { to: 'disableCpuIdle' } },
    ),
  ),
  verify: section(optionsSchema(verify)),
  status: section(optionsSchema(status)),
  bootstrap: section(bootstrapSection),
  metrics: section(optionsSchema(metrics, { host })),
  log: section(optionsSchema(log, { level: oneOf(LEVELS) })),
})
