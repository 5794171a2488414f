import { stringify } from 'smol-toml'

/** An upstream of submissions. */
type Upstream = {
  readonly url: string
  /** The credential itself, or `$NAME`. */
  readonly credential: string | undefined
  /** Its own tip accounts. */
  readonly tips: readonly string[]
}

/** What a starter file configures. */
export type Starter = {
  readonly dataDir: string
  readonly network: string
  readonly feed: { readonly endpoint: string; readonly xToken: string | undefined }
  /** Programs that are indexed; none means every account. */
  readonly programs: readonly string[]
  readonly rpc: Omit<Upstream, 'tips'> | undefined
  readonly lander: Upstream | undefined
  readonly relay: Upstream | undefined
  readonly relayBundle: Upstream | undefined
  readonly serviceTips: readonly string[]
  readonly location: {
    readonly id: string
    readonly name: string
    readonly publicUrl: string | undefined
  }
  readonly listener: { readonly host: string; readonly port: number }
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly product: { readonly id: string; readonly name: string }
  readonly dashboardUrl: string | undefined
  readonly identity:
    | {
        readonly issuer: string
        readonly clientId: string
        readonly clientSecret: string | undefined
      }
    | undefined
}

/** Addresses in examples: those of the service and of an upstream must differ. */
const PUBKEY = '11111111111111111111111111111111'
const OTHER_PUBKEY = 'SysvarC1ock11111111111111111111111111111111'

const TLS_EXAMPLE = { certFile: 'fullchain.pem', keyFile: 'privkey.pem' }

/** One table. A disabled one is comments, as an example. */
type Part = {
  readonly about?: string
  readonly header?: string
  readonly values: Readonly<Record<string, unknown>>
  readonly isDisabled?: boolean
}

const isGiven = ([, value]: readonly [string, unknown]): boolean => value !== undefined

/** One line. Names may be dotted, which the formatter of TOML would quote, and tables inline. */
const formatValue = (name: string, value: unknown): string => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `${name} = ${stringify({ value }).trim().slice('value = '.length)}`
  const inside = Object.entries(value).map(([key, inner]) => formatValue(key, inner))
  return `${name} = { ${inside.join(', ')} }`
}

const formatPart = ({ about, header, values, isDisabled = false }: Part): string => {
  const lines = [
    ...(header === undefined ? [] : [header]),
    ...Object.entries(values)
      .filter(isGiven)
      .map(([name, value]) => formatValue(name, value)),
  ]
  return [
    ...(about === undefined ? [] : about.split('\n').map(line => `# ${line}`)),
    ...lines.map(line => (isDisabled ? `#${line}` : line)),
  ].join('\n')
}

/** A table of an upstream, inside which its URLs are dotted keys: one header less to remove. */
const toUpstream = (
  name: string,
  about: string,
  {
    upstream,
    example,
    ...values
  }: { upstream: Partial<Upstream> | undefined; example: string } & {
    readonly [option: string]: unknown
  },
): Part => ({
  about,
  header: `[networks.${name}]`,
  values: {
    'upstream.urls': [upstream?.url ?? example],
    'upstream.credential': upstream?.credential,
    ...values,
  },
  isDisabled: upstream === undefined,
})

const networkParts = (starter: Starter): readonly Part[] => {
  const { feed, lander, network, programs, relay, relayBundle, rpc } = starter
  const service = starter.serviceTips.length > 0 ? starter.serviceTips : [PUBKEY]
  const engine = (upstream: Upstream | undefined) => ({
    upstream,
    serviceTipAddresses: service,
    engineTipAddresses: upstream?.tips ?? [OTHER_PUBKEY],
  })
  return [
    { about: 'A chain that is indexed.', header: '[[networks]]', values: { id: network } },
    {
      about: 'Its blocks come from a Yellowstone gRPC server. Without replay, a restart is a gap.',
      header: '[networks.feed]',
      values: feed,
    },
    {
      about: 'What is indexed. Without this table: every account, about 1 KB of disk for each.',
      header: '[networks.scope]',
      values: { programs: programs.length > 0 ? programs : [PUBKEY] },
      isDisabled: programs.length === 0,
    },
    toUpstream('rpc', 'Methods that are not read from the index are forwarded to this RPC.', {
      upstream: rpc,
      example: 'https://rpc.example',
    }),
    toUpstream('lander', 'Transactions of the lander routes, with tips to these accounts.', {
      upstream: lander,
      example: 'https://lander.example',
      tipAddresses: lander?.tips ?? [PUBKEY],
    }),
    toUpstream('relay', 'Bundles of /relay. They tip the service and the engine.', {
      ...engine(relay),
      example: 'https://engine.example',
    }),
    toUpstream('relayBundle', 'The same for /relay-bundle.', {
      ...engine(relayBundle),
      example: 'https://bundle-engine.example',
    }),
  ]
}

const serviceParts = (starter: Starter): readonly Part[] => [
  {
    about: 'Where clients connect: by https with tls. publicUrl is what they see, if of a proxy.',
    header: '[[locations]]',
    values: starter.location,
  },
  {
    header: '[[locations.listeners]]',
    values: {
      ...starter.listener,
      ...(starter.tls === undefined ? { '#tls': TLS_EXAMPLE } : { tls: starter.tls }),
    },
  },
  {
    about: 'What accesses are granted of: slotline access grant --subject … --product …',
    header: '[[products]]',
    values: starter.product,
  },
  {
    about: 'Who can sign in to the dashboard; the provider must allow <publicUrl>/callback.',
    header: '[dashboard]',
    values: {
      publicUrl: starter.dashboardUrl ?? (starter.identity ? undefined : 'https://example.com'),
      'identity.issuer': starter.identity?.issuer ?? 'https://identity.example',
      'identity.clientId': starter.identity?.clientId ?? 'slotline',
      'identity.clientSecret': starter.identity?.clientSecret,
    },
    isDisabled: starter.identity === undefined,
  },
]

const HEAD = `Slotline. "slotline config check" checks this file, "slotline config dump --all" prints every
option with its default; add its tables at the end. Paths are relative to the folder of this file.
A secret can be "$NAME" of the environment, or be read from a file: credentialFile, xTokenFile.`

/** A configuration to begin with: `serve` runs it as it is. */
export const formatStarter = (starter: Starter): string => {
  const head = { about: HEAD, values: { dataDir: starter.dataDir } }
  const parts = [head, ...networkParts(starter), ...serviceParts(starter)]
  return `${parts.map(formatPart).join('\n\n')}\n`
}
