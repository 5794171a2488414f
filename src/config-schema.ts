import { isIP } from 'node:net'
import * as v from 'valibot'
import { accountsRpcSection } from './config-accounts-rpc.js'
import { defaults as authenticate } from './access/authenticate.js'
import { defaults as productLimits } from './access/product-options.js'
import { defaults as limits } from './access/limits.js'
import { defaults as accessStore } from './access/store.js'
import { defaults as dashboardDefaults } from './dashboard/options.js'
import { defaults as usage } from './access/usage.js'
import { defaults as bootstrap } from './ingest/bootstrap-options.js'
import { defaults as feedDefaults, PLANS, TRANSACTIONS } from './ingest/geyser.js'
import { defaults as repair, REPAIR_STEPS } from './ingest/repair-options.js'
import { defaults as processes } from './processes/options.js'
import { defaults as status } from './processes/status-options.js'
import { defaults as verify } from './processes/verify-options.js'
import { defaults as pubsub } from './pubsub/options.js'
import { defaults as forward, upstreamDefaults as forwardUpstream } from './rpc/forward-options.js'
import { defaults as rpc } from './rpc/options.js'
import { COMPRESSIONS, defaults as serverAll } from './server/options.js'
import { defaults as lander } from './submission/lander-options.js'
import { defaults as ledger } from './submission/ledger-options.js'
import {
  engineDefaults,
  EXEMPT_PROGRAMS,
  RELAY_PATH,
  defaults as relay,
} from './submission/relay-options.js'
import { defaults as upstreamDefaults } from './submission/upstream-options.js'
import { defaults as log, LEVELS } from './shared/log.js'
import { defaults as metrics } from './shared/metrics-options.js'
import {
  integer,
  leaf,
  oneOf,
  optionEntries,
  optionsSchema,
  port,
  text,
} from './shared/options-schema.js'
import { defaults as pools } from './shared/pool-options.js'
import { isPubkey } from './shared/pubkey.js'
import { defaults as loader } from './shared/store-loader.js'
import { defaults as store } from './shared/store-options.js'

// Stands at the top of the file: WebSockets and the dashboard will believe the same peers.
const { trustedProxies: _proxies, ...server } = serverAll

const isText = (value: unknown): value is string => typeof value === 'string'
// Also the name of a folder, so nothing that a path could make something else of.
const id = leaf<string>(
  value => isText(value) && /^[a-z0-9][a-z0-9-]{0,31}$/.test(value),
  'up to 32 of a–z, 0–9 and -, not beginning with -',
)
const pubkey = leaf<string>(value => isText(value) && isPubkey(value), 'a base58 public key')
const endpoint = leaf<string>(
  value => isText(value) && /^https?:\/\//.test(value) && URL.canParse(value),
  'an http or https URL',
)
const isPeers = (value: string): boolean => {
  const [address = '', bits = '0', ...more] = value.split('/')
  const most = isIP(address) === 4 ? 32 : 128
  return isIP(address) !== 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most
}
const peers = leaf<string>(
  value => isText(value) && isPeers(value),
  'an IP address, or address/bits',
)
// What LMDB can use: pages for every table, and the address space that a process has.
const mapBytes = integer(1024 ** 2, 2 ** 46, 'bytes')
const readersMax = integer(16, 32_768, 'count')
const host = text('an address or a host name')

const described = <S extends v.GenericSchema>(schema: S, reason: string) =>
  v.pipe(schema, v.description(reason))

const section = <S extends v.GenericSchema>(schema: S) => v.optional(schema, {})

// The largest account is 10 MiB, and there is something around it.
const holdsAccount = integer(11 * 1024 ** 2, 2 ** 40, 'bytes')

const scope = v.strictObject({
  programs: described(v.optional(v.array(pubkey), []), 'Every account of these programs.'),
  mints: described(v.optional(v.array(pubkey), []), 'These mints and all their token accounts.'),
  pubkeys: described(v.optional(v.array(pubkey), []), 'These accounts.'),
})

/** One Yellowstone server. */
const source = {
  endpoint: described(endpoint, 'Yellowstone gRPC server of the network.'),
  xToken: described(v.optional(text()), 'Sent to it as `x-token`. Never printed.'),
  caFile: described(
    v.optional(text('a file')),
    'PEM of a private certificate authority, in place of those of the system.',
  ),
}

const fallback = v.strictObject({
  ...source,
  plan: described(
    v.optional(oneOf(PLANS)),
    'How accounts are asked for there; absent is as at the first.',
  ),
})

const feed = v.strictObject({
  ...source,
  fallbacks: described(
    v.optional(v.pipe(v.array(fallback), v.maxLength(8, 'at most 8 servers')), []),
    'Further servers of the same network, each asked when the ones before it bring no blocks. They should replay slots.',
  ),
  startSlot: described(
    v.optional(integer(0, Number.MAX_SAFE_INTEGER, 'slot')),
    'Where an empty store begins; absent is the live head.',
  ),
  ...optionEntries(feedDefaults, {
    plan: oneOf(PLANS),
    transactions: oneOf(TRANSACTIONS),
    bufferBytesMax: holdsAccount,
    queueBytesMax: holdsAccount,
    groupBlocksMax: integer(1, 512, 'blocks'),
    decodeBytesMax: holdsAccount,
    windowBytes: integer(65_535, 2 ** 31 - 1, 'bytes'),
  }),
})

// A query or a user would be a secret in a place that is printed: that is what `credential` is for.
const isBase = (value: string): boolean =>
  /^https?:\/\//.test(value) && URL.canParse(value) && !/[?#@\s]/.test(value)
const base = leaf<string>(
  value => isText(value) && isBase(value),
  'an http or https URL without user, query and fragment',
)
const headerName = leaf<string>(
  value => isText(value) && /^[A-Za-z0-9-]+$/.test(value),
  'a name of letters, digits and -',
)
// What a header line can hold.
const credential = leaf<string>(
  value => isText(value) && /^[!-~]+$/.test(value),
  'a text of visible ASCII characters',
)
const path = leaf<string>(
  value => isText(value) && /^\/[!-~]*$/.test(value),
  'a path that begins with /',
)
const pingPath = leaf<string>(
  value => value === '' || (isText(value) && /^\/[!-~]*$/.test(value)),
  'a path that begins with /, or empty',
)

/** An upstream of submissions; `own` are the defaults that differ from route to route. */
const upstream = (own: Partial<typeof upstreamDefaults> = {}) =>
  v.strictObject({
    urls: described(
      v.pipe(v.array(base), v.minLength(1, 'at least one URL')),
      'Regional URLs in order of preference. The next one is asked only where a connection cannot be had.',
    ),
    credential: described(
      v.optional(credential),
      'The service’s own key at the upstream. Never printed.',
    ),
    ...optionEntries(
      { ...upstreamDefaults, ...own },
      {
        credentialIn: oneOf(['header', 'query']),
        credentialName: headerName,
        pingPath,
        inFlightMax: integer(1, 65_536, 'requests'),
        warmCount: integer(1, 256, 'connections'),
      },
    ),
  })

const landerSection = v.strictObject({
  upstream: described(upstream(), 'Where it is, and how it is asked.'),
  tipAddresses: described(
    v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
    'Tip accounts of the lander itself.',
  ),
  serviceTipAddresses: described(
    v.optional(v.array(pubkey), []),
    'Tip accounts that are the service’s own; a tip to either counts.',
  ),
  ...optionEntries(lander, {
    findingsWaitMs: integer(0, 2 ** 31 - 1, 'milliseconds'),
    tipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
    transactionPath: path,
    bundlePath: path,
    batchPath: path,
  }),
})

/** A relay route and its bundle engine; `own` are the defaults that the routes do not share. */
const relaySection = (own: { readonly path: string; readonly credentialName: string }) =>
  v.strictObject({
    upstream: described(
      upstream({ ...engineDefaults, credentialName: own.credentialName }),
      'Where the bundle engine is, and how it is asked.',
    ),
    serviceTipAddresses: described(
      v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
      'Tip accounts of the service.',
    ),
    engineTipAddresses: described(
      v.pipe(v.array(pubkey), v.minLength(1, 'at least one address')),
      'Tip accounts of the engine: what `getTipAccounts` answers.',
    ),
    exemptPrograms: described(
      v.optional(v.array(pubkey), [...EXEMPT_PROGRAMS]),
      'Programs whose instructions make no application.',
    ),
    ...optionEntries(
      { ...relay, path: own.path },
      {
        path,
        serviceTipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
        engineTipFloorLamports: integer(0, Number.MAX_SAFE_INTEGER, 'lamports'),
        requestsPerSecondMax: integer(1, 1_000_000, 'requests'),
        requestsBurstMax: integer(1, 1_000_000, 'requests'),
        tipCheckMs: integer(0, 2 ** 31 - 1, 'milliseconds'),
      },
    ),
  })

const methodName = leaf<string>(
  value => isText(value) && /^[A-Za-z][\w.]{0,63}$/.test(value),
  'the name of a method',
)

/** The upstream RPC that answers what is not answered here. */
const rpcSection = v.strictObject({
  upstream: described(upstream(forwardUpstream), 'Where it is, and how it is asked.'),
  allow: described(
    v.optional(v.array(methodName)),
    'The only methods that are forwarded; absent is every one that is not answered here.',
  ),
  deny: described(
    v.optional(v.array(methodName), []),
    'Methods that are not forwarded, whatever `allow` says: -32601.',
  ),
  ...optionEntries(forward, { outsideScope: oneOf(['error', 'forward']) }),
})

const network = v.strictObject({
  id: described(id, 'Name of the network: of its folder, in tokens and in metrics.'),
  name: described(v.optional(text()), 'What people call it; absent is its id.'),
  feed,
  repair: section(optionsSchema(repair)),
  repairSteps: described(
    v.optional(v.array(oneOf(REPAIR_STEPS)), []),
    'What a gap is mended by that no server replays, in this order: incremental brings a copy of the store up to date from the last of `snapshots`, rpc reads the scope from accountsRpc, snapshot loads all `snapshots`. Each makes a new store beside the old one.',
  ),
  snapshots: described(
    v.optional(v.pipe(v.array(text('a file or a URL')), v.maxLength(2, 'at most two')), []),
    'Where snapshots are for that: a full one, and an incremental one that builds on it; the latter alone is enough for incremental. What follows the host is never printed.',
  ),
  snapshotsCaFile: described(
    v.optional(text('a file')),
    'PEM of a private certificate authority of their servers, in place of those of the system.',
  ),
  changedPrograms: described(
    v.optional(v.array(pubkey)),
    'Programs whose changes are indexed by slot; absent is all, empty is none. Without it `changedSinceSlot` is right, only slower.',
  ),
  scope: described(v.optional(scope), 'What is indexed; absent is every account.'),
  accountsRpc: described(
    v.optional(accountsRpcSection),
    'Where accounts are read from that the feed has not brought; absent, there is no sweep and no bootstrap by RPC.',
  ),
  rpc: described(
    v.optional(rpcSection),
    'Who answers the methods that are not answered here; absent, they are -32601.',
  ),
  lander: described(
    v.optional(landerSection),
    'Where `/lander` and its siblings forward to; absent, they answer 404.',
  ),
  relay: described(
    v.optional(relaySection({ path: RELAY_PATH, credentialName: 'x-api-key' })),
    'Where `/relay` forwards to; absent, it answers 404.',
  ),
  relayBundle: described(
    v.optional(relaySection({ path: relay.path, credentialName: 'x-jito-auth' })),
    'Where `/relay-bundle` forwards to; absent, it answers 404.',
  ),
})

// A path, a query or a user would be lost: the token follows the origin.
const origin = leaf<string>(
  value =>
    isText(value) &&
    /^https?:\/\//.test(value) &&
    URL.canParse(value) &&
    new URL(value).origin === value,
  'https://host or http://host:port, with nothing after it',
)

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

const isLoopback = (host: string): boolean => /^(127(\.\d+){3}|localhost|\[::1\])$/.test(host)
/** Secrets and cookies travel there: https, or http that does not leave the machine. */
const isPrivate = (value: string): boolean => {
  if (!URL.canParse(value)) return false
  const { protocol, hostname } = new URL(value)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}
const publicUrl = leaf<string>(
  value => isText(value) && isPrivate(value) && new URL(value).origin === value,
  'https://host, or http://host:port of loopback, with nothing after it',
)
const issuer = leaf<string>(
  value => isText(value) && isBase(value) && isPrivate(value),
  'an https URL, or http of loopback, without user, query and fragment',
)

const identity = v.strictObject({
  issuer: described(issuer, 'Its issuer, as its discovery document says it, letter by letter.'),
  clientId: described(text(), 'Who we are there.'),
  clientSecret: described(
    v.optional(text()),
    'Our secret there. Absent: a public client, by PKCE alone. Never printed.',
  ),
  scope: described(
    v.optional(text(), 'openid email profile'),
    'What is asked for. `openid` is a must; the others are shown on the page.',
  ),
})

const dashboardSection = v.strictObject({
  publicUrl: described(
    v.optional(publicUrl),
    'Where browsers find the dashboard; absent is its listener. The provider must know `<publicUrl>/callback`.',
  ),
  identity: described(
    v.optional(identity),
    'The OpenID Connect provider that people sign in with; absent, nobody can.',
  ),
  ...optionEntries(dashboardDefaults, {
    host,
    headerBytesMax: integer(4_096, 65_536, 'bytes'),
    sessionsPerPersonMax: integer(1, 1_000, 'sessions'),
  }),
})

/** The whole file: every key, its kind, its bounds, its default, and for our own keys the reason. */
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
    optionsSchema(server, {
      // What uWebSockets.js takes, whose clock goes in steps of 4 s.
      socketIdleSeconds: integer(8, 960, 'seconds'),
      socketReadBytesMax: integer(1024, 2 ** 30, 'bytes'),
      socketsQueuedBytesMax: integer(1024 ** 2, 2 ** 30, 'bytes'),
      socketCompression: oneOf(COMPRESSIONS),
    }),
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
    optionsSchema(processes, {
      edgeCount: integer(0, 256, 'count'),
      edgeSliceMicros: integer(0, 100_000, 'microseconds'),
      unsentBytesMax: integer(4_096, 2 ** 31 - 1, 'bytes'),
      // The largest that must pass, and what is still nothing to copy.
      submissionBytesMax: integer(22 * 1024, 1024 ** 2, 'bytes'),
    }),
  ),
  verify: section(optionsSchema(verify)),
  status: section(optionsSchema(status)),
  bootstrap: section(
    v.strictObject({ ...optionEntries(bootstrap), load: section(optionsSchema(loader)) }),
  ),
  metrics: section(optionsSchema(metrics, { host })),
  log: section(optionsSchema(log, { level: oneOf(LEVELS) })),
})
