import { getDescription, type GenericSchema } from 'valibot'
import { configSchema } from './schema.js'

/** Where the options of a section stand with their reasons, as comments of its `defaults`. */
const SOURCES: Readonly<Record<string, string>> = {
  'networks.feed': 'src/ingest/feed/geyser.ts',
  'networks.accountsRpc': 'src/ingest/accounts-rpc/options.ts',
  'networks.repair': 'src/ingest/repair/options.ts',
  'networks.rpc': 'src/rpc/forward-options.ts',
  'networks.rpc.upstream': 'src/upstream/options.ts',
  'networks.lander': 'src/submission/lander/options.ts',
  'networks.lander.upstream': 'src/upstream/options.ts',
  'networks.relay': 'src/submission/relay/options.ts',
  'networks.relay.upstream': 'src/upstream/options.ts',
  'networks.relayBundle': 'src/submission/relay/options.ts',
  'networks.relayBundle.upstream': 'src/upstream/options.ts',
  pubsub: 'src/pubsub/options.ts',
  ledger: 'src/submission/store/options.ts',
  server: 'src/server/options.ts',
  rpc: 'src/rpc/options.ts',
  store: 'src/native/store-options.ts',
  pools: 'src/native/pool-options.ts',
  'products.limits': 'src/access/accesses/product-options.ts',
  'access.store': 'src/access/store/store.ts',
  'access.authenticate': 'src/access/authenticate.ts',
  dashboard: 'src/dashboard/options.ts',
  'access.limits': 'src/access/limiter/access-limiter.ts',
  'access.usage': 'src/access/usage/usage.ts',
  processes: 'src/processes/options.ts',
  verify: 'src/storage/verify-options.ts',
  status: 'src/storage/status-options.ts',
  bootstrap: 'src/ingest/bootstrap/options.ts',
  'bootstrap.load': 'src/native/loader.ts',
  'bootstrap.archive': 'src/ingest/bootstrap/archive-options.ts',
  metrics: 'src/shared/metrics-options.ts',
  log: 'src/shared/log.ts',
}

type Row = {
  readonly name: string
  readonly says: string
  readonly fallback: string
  readonly reason: string
}
type Section = { readonly title: string; readonly intro: string; readonly rows: readonly Row[] }

const UNITS: readonly [size: number, name: string][] = [
  [1024 ** 4, 'TiB'],
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
]

const formatDefault = (value: unknown, says: string): string => {
  if (value === undefined) return 'none'
  const [size, unit] = UNITS.find(([size]) => Number(value) % size === 0 && value !== 0) ?? []
  const readable =
    says.includes('(bytes)') && size !== undefined ? ` (${Number(value) / size} ${unit})` : ''
  return `\`${JSON.stringify(value)}\`${readable}`
}

/** Comments of a `defaults` block by the name of the option below. */
const readReasons = (source: string): ReadonlyMap<string, string> => {
  const [, block = ''] = /^export const defaults = \{\n(.*?)^\}/ms.exec(source) ?? []
  const comments = block.matchAll(/\/\*\*(.*?)\*\/\s*(\w+):/gs)
  return new Map(
    Array.from(comments, ([, comment = '', name = '']) => [
      name,
      comment.replace(/\s*\n\s*\*\s*/g, ' ').trim(),
    ]),
  )
}

const entriesOf = (schema: GenericSchema): Readonly<Record<string, GenericSchema>> | undefined =>
  'entries' in schema ? (schema.entries as Record<string, GenericSchema>) : undefined

/** The schema below `optional` and lists, and whether a list was among them. */
const unwrap = (schema: GenericSchema): { inner: GenericSchema; isList: boolean } => {
  let inner = schema
  let isList = false
  for (;;) {
    if ('wrapped' in inner) inner = inner.wrapped as GenericSchema
    else if ('item' in inner) [inner, isList] = [inner.item as GenericSchema, true]
    else return { inner, isList }
  }
}

const toSections = (
  schema: GenericSchema,
  path: string,
  heading: string,
  intro: string,
  readSource: (file: string) => string,
): Section[] => {
  const file = SOURCES[path]
  const reasons = file === undefined ? undefined : readReasons(readSource(file))
  const rows: Row[] = []
  const below: Section[] = []
  for (const [name, entry] of Object.entries(entriesOf(schema) ?? {})) {
    const { inner, isList } = unwrap(entry)
    const reason = getDescription(entry) ?? reasons?.get(name) ?? ''
    if (entriesOf(inner) !== undefined) {
      const inside = path === '' ? name : `${path}.${name}`
      below.push(
        ...toSections(inner, inside, isList ? `[[${inside}]]` : `[${inside}]`, reason, readSource),
      )
      continue
    }
    const message =
      'message' in inner && typeof inner.message === 'string' ? inner.message : 'a text'
    const says = isList ? `a list, each ${message}` : message
    const isOptional = 'wrapped' in entry
    const fallback = 'default' in entry ? entry.default : undefined
    rows.push({
      name,
      says,
      fallback: isOptional ? formatDefault(fallback, says) : 'required',
      reason,
    })
  }
  return [{ title: heading, intro, rows }, ...below]
}

/** Every option of the file, with the sources of the parts to take the reasons from. */
export const toConfigReference = (readSource: (file: string) => string): readonly Section[] =>
  toSections(configSchema, '', 'At the top', '', readSource)

const formatSection = ({ title, intro, rows }: Section): string => {
  const lines = [`## ${title.startsWith('[') ? `\`${title}\`` : title}`, '']
  if (intro !== '') lines.push(intro, '')
  if (rows.length > 0) {
    lines.push('| option | must be | default | why |', '|---|---|---|---|')
    for (const { name, says, fallback, reason } of rows)
      lines.push(`| \`${name}\` | ${says} | ${fallback} | ${reason.replaceAll('|', '\\|')} |`)
    lines.push('')
  }
  return lines.join('\n')
}

/** `docs/configuration.md`. */
export const formatConfiguration = (readSource: (file: string) => string): string =>
  [
    '# Configuration',
    '',
    'One TOML file, printed here from the code. `slotline config check FILE` checks one; `slotline config dump',
    '[FILE]` prints the effective values, without a file those of an example to begin with. An unknown key is an error. Times are in',
    'milliseconds and sizes in bytes.',
    '',
    ...toConfigReference(readSource).map(formatSection),
  ].join('\n')
