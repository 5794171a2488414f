/** One answer of `slotline init`: a flag, and a question to a person. */
export type Question = {
  readonly name: string
  readonly argument: string
  readonly text: string
  /** Taken where nothing is answered; without one the part is left out, or an answer is needed. */
  readonly fallback?: string
  readonly isRequired?: boolean
  /** It may be given several times; a person separates answers by white space. */
  readonly isList?: boolean
  /** Only where one of these has an answer. */
  readonly of?: readonly string[]
}

const CREDENTIAL = 'its credential there, or $NAME of the environment'

const upstream = (name: string, what: string): readonly Question[] => [
  { name, argument: 'url', text: `${what}; empty is none` },
  { name: `${name}-credential`, argument: 'text', text: CREDENTIAL, of: [name] },
  {
    name: `${name}-tip`,
    argument: 'address',
    text: 'its tip accounts',
    isList: true,
    isRequired: true,
    of: [name],
  },
]

/** Every question, in the order of the file. */
export const QUESTIONS: readonly Question[] = [
  { name: 'data-dir', argument: 'dir', text: 'data directory', fallback: '.slotline' },
  { name: 'network', argument: 'id', text: 'name of the network', fallback: 'mainnet' },
  { name: 'feed', argument: 'url', text: 'its Yellowstone gRPC server', isRequired: true },
  { name: 'feed-token', argument: 'text', text: 'its x-token, or $NAME of the environment' },
  {
    name: 'program',
    argument: 'address',
    text: 'programs to index; empty is every account',
    isList: true,
  },
  ...upstream('rpc', 'RPC for methods that are not read from the index').slice(0, 2),
  ...upstream('lander', 'lander'),
  ...upstream('relay', 'bundle engine of /relay'),
  ...upstream('relay-bundle', 'bundle engine of /relay-bundle'),
  {
    name: 'service-tip',
    argument: 'address',
    text: 'tip accounts of your service',
    isList: true,
    isRequired: true,
    of: ['relay', 'relay-bundle'],
  },
  { name: 'location', argument: 'id', text: 'name of the location', fallback: 'home' },
  { name: 'location-name', argument: 'text', text: 'its display name; empty is its name' },
  { name: 'public-url', argument: 'url', text: 'its URL for clients; empty is its listener' },
  { name: 'host', argument: 'address', text: 'address to listen on', fallback: '127.0.0.1' },
  { name: 'port', argument: 'port', text: 'port to listen on', fallback: '8899' },
  { name: 'cert', argument: 'file', text: 'certificate for TLS, in PEM; empty is plain HTTP' },
  { name: 'key', argument: 'file', text: 'its key', isRequired: true, of: ['cert'] },
  { name: 'product', argument: 'id', text: 'name of the product', fallback: 'node-access' },
  { name: 'product-name', argument: 'text', text: 'its display name; empty is its name' },
  { name: 'issuer', argument: 'url', text: 'OpenID Connect issuer for sign-in; empty is none' },
  {
    name: 'client-id',
    argument: 'text',
    text: 'client id of the service there',
    isRequired: true,
    of: ['issuer'],
  },
  {
    name: 'client-secret',
    argument: 'text',
    text: 'client secret there, or $NAME of the environment',
    of: ['issuer'],
  },
  { name: 'dashboard-url', argument: 'url', text: 'URL of the dashboard', of: ['issuer'] },
]

/** Answers by name; an absent one is none. */
export type Answers = ReadonlyMap<string, readonly string[]>

/** Whether a question applies, after the answers before it. */
export const applies = ({ of }: Question, answers: Answers): boolean =>
  of === undefined || of.some(name => answers.has(name))
