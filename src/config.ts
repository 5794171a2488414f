import { isIP } from 'node:net'
import { join } from 'node:path'
import { parse, stringify, TomlError } from 'smol-toml'
import * as v from 'valibot'
import { defaults as authenticate } from './access/authenticate.js'
import { defaults as accessStore } from './access/store.js'
import { defaults as processes } from './processes/options.js'
import { defaults as log, LEVELS } from './shared/log.js'
import { defaults as metrics } from './shared/metrics-options.js'
import {
  closestWord,
  integer,
  leaf,
  oneOf,
  optionsSchema,
  port,
  text,
} from './shared/options-schema.js'
import { defaults as pools } from './shared/pool-options.js'
import { REDACTED } from './shared/secret.js'
import { defaults as store } from './shared/store-options.js'
import { findTomlLine } from './shared/toml-line.js'

/** A configuration that cannot be used. The message is one line: where, what is wrong, what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const isText = (value: unknown): value is string => typeof value === 'string'
// Also the name of a folder, so nothing that a path could make something else of.
const id = leaf<string>(
  value => isText(value) && /^[a-z0-9][a-z0-9-]{0,31}$/.test(value),
  'up to 32 of a–z, 0–9 and -, not beginning with -',
)
const pubkey = leaf<string>(
  value => isText(value) && /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value),
  'a base58 public key',
)
const endpoint = leaf<string>(
  value => isText(value) && /^https?:\/\//.test(value) && URL.canParse(value),
  'an http or https URL',
)
const address = leaf<string>(value => isText(value) && isIP(value) !== 0, 'an IP address')
// What LMDB can use: pages for every table, and the address space that a process has.
const mapBytes = integer(1024 ** 2, 2 ** 46, 'bytes')
const readersMax = integer(16, 32_768, 'count')
const host = text('an address or a host name')

const described = <S extends v.GenericSchema>(schema: S, reason: string) =>
  v.pipe(schema, v.description(reason))

const scope = v.strictObject({
  programs: described(v.optional(v.array(pubkey), []), 'Every account of these programs.'),
  mints: described(v.optional(v.array(pubkey), []), 'These mints and all their token accounts.'),
  pubkeys: described(v.optional(v.array(pubkey), []), 'These accounts.'),
})

const feed = v.strictObject({
  endpoint: described(endpoint, 'Yellowstone gRPC server of the network.'),
  xToken: described(v.optional(text()), 'Sent to it as `x-token`. Never printed.'),
})

const network = v.strictObject({
  id: described(id, 'Name of the network: of its folder, in tokens and in metrics.'),
  feed,
  changedPrograms: described(
    v.optional(v.array(pubkey)),
    'Programs whose changes are indexed by slot; absent is all, empty is none. Without it `changedSinceSlot` is right, only slower.',
  ),
  scope: described(v.optional(scope), 'What is indexed; absent is every account.'),
})

const listener = v.strictObject({
  host: described(host, 'Address to listen on.'),
  port: described(port, 'Port to listen on.'),
})

const location = v.strictObject({
  id: described(id, 'Name of the location. Its tokens open no other.'),
  name: described(text(), 'What people call it.'),
  listeners: described(
    v.pipe(v.array(listener), v.minLength(1, 'at least one listener')),
    'Where requests for this location arrive.',
  ),
})

const section = <S extends v.GenericSchema>(schema: S) => v.optional(schema, {})

const schema = v.strictObject({
  dataDir: described(
    v.optional(text('a folder'), '.slotline'),
    'Everything that is stored lies in here.',
  ),
  trustedProxies: described(
    v.optional(v.array(address), []),
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
  store: section(
    optionsSchema(store, {
      mapBytes,
      readersMax,
      feedBytesMax: integer(0, Number.MAX_SAFE_INTEGER, 'bytes'),
    }),
  ),
  pools: section(optionsSchema(pools, { scanNiceness: integer(0, 19, 'niceness') })),
  access: section(
    v.strictObject({
      keyFile: described(
        v.optional(v.string('a file'), ''),
        'Key that tokens are sealed with, made at the first start. Empty is `access.key` in `dataDir`. Back it up apart from the store.',
      ),
      store: section(optionsSchema(accessStore, { mapBytes, readersMax })),
      authenticate: section(optionsSchema(authenticate)),
    }),
  ),
  processes: section(optionsSchema(processes, { edgeCount: integer(0, 256, 'count') })),
  metrics: section(optionsSchema(metrics, { host })),
  log: section(optionsSchema(log, { level: oneOf(LEVELS) })),
})

/** The valibot schema of the whole file, for the reference. */
export const configSchema: v.GenericSchema = schema

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The effective configuration: plain frozen data, which may be sent to another process. */
export type Config = DeepReadonly<v.InferOutput<typeof schema>>

const freeze = <T>(value: T): DeepReadonly<T> => {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freeze)
  return Object.freeze(value) as DeepReadonly<T>
}

type Issue = v.BaseIssue<unknown>

const keysAt = (issue: Issue): string[] => issue.path?.map(({ key }) => String(key)) ?? []

const formatPath = (keys: readonly string[]): string =>
  keys
    .map(key => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '') || 'the file'

/** Keys that the table at this path may have. */
const knownKeys = (keys: readonly string[]): readonly string[] => {
  let at: unknown = schema
  for (const key of [...keys, '']) {
    while (typeof at === 'object' && at !== null && !('entries' in at))
      at = 'wrapped' in at ? at.wrapped : 'item' in at ? at.item : undefined
    if (typeof at !== 'object' || at === null) return []
    const { entries } = at as { entries: Record<string, unknown> }
    if (key === '') return Object.keys(entries)
    if (!/^\d+$/.test(key)) at = entries[key]
  }
  return []
}

/** What may be printed of an option: some feeds are reached by a secret in their URL. */
const toPrintable = (key: string, value: unknown): unknown => {
  if (key === 'xToken') return REDACTED
  if (key !== 'endpoint' || !isText(value)) return value
  const [, scheme = '', user = '', host = '', rest = ''] =
    /^([a-z]*:\/\/)([^/?#]*@)?([^/?#]*)\/?(.*)$/is.exec(value) ?? []
  return user === '' && rest === '' ? value : `${scheme}${host}/${REDACTED}`
}

const formatGiven = (given: unknown, key: string): string => {
  const value = toPrintable(key, given)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a table'
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value)
}

const explain = (issue: Issue): string => {
  const keys = keysAt(issue)
  const path = formatPath(keys)
  const given = formatGiven(issue.input, keys.at(-1) ?? '')
  if (issue.type !== 'strict_object')
    return `${path} must be ${issue.type === 'array' ? 'a list' : issue.message}, but is ${given}`
  if (issue.expected === 'Object') return `${path} must be a table, but is ${given}`
  if (issue.expected !== 'never') return `${path} is missing`
  const closest = closestWord(keys.at(-1) ?? '', knownKeys(keys.slice(0, -1)))
  return `${path} is unknown${closest === undefined ? '' : `; did you mean ${closest}?`}`
}

type Source = { readonly file: string; readonly text: string }

const fail = (source: Source | undefined, keys: readonly string[], message: string): never => {
  const line = source && findTomlLine(source.text, keys)
  const place =
    source === undefined ? '' : `${source.file}${line === undefined ? '' : `:${line}`}: `
  throw new ConfigError(`${place}${message}`)
}

/** What no single value shows: names that must differ, and ports that two would listen on. */
const checkTogether = (config: Config, source: Source | undefined): void => {
  for (const list of ['networks', 'locations'] as const) {
    const seen = new Set<string>()
    for (const [index, { id }] of config[list].entries()) {
      if (seen.has(id))
        fail(source, [list, String(index), 'id'], `${list}[${index}].id is ${id} a second time`)
      seen.add(id)
    }
  }
  const taken = new Map([[`${config.metrics.host}:${config.metrics.port}`, 'metrics']])
  for (const [index, { id, listeners }] of config.locations.entries())
    for (const { host, port } of listeners) {
      const user = taken.get(`${host}:${port}`)
      const keys = ['locations', String(index), 'listeners']
      if (user !== undefined)
        fail(source, keys, `${host}:${port} is used by ${user} and by location ${id}`)
      taken.set(`${host}:${port}`, `location ${id}`)
    }
}

/** Checks what is given, fills in the defaults and freezes it. Throws ConfigError. */
export const toConfig = (given: unknown, source?: Source): Config => {
  const result = v.safeParse(schema, given)
  if (!result.success) {
    // A misspelled key is the reason where another is missing.
    const issue = result.issues.find(({ expected }) => expected === 'never') ?? result.issues[0]
    return fail(source, keysAt(issue), explain(issue))
  }
  const { access, dataDir } = result.output
  const keyFile = access.keyFile === '' ? join(dataDir, 'access.key') : access.keyFile
  const config = freeze({ ...result.output, access: { ...access, keyFile } })
  checkTogether(config, source)
  return config
}

/** Reads a configuration file's text; `file` names it in errors. Throws ConfigError. */
export const parseConfig = (text: string, file: string): Config => {
  let given: unknown
  try {
    given = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.replace('Invalid TOML document: ', '').split('\n')
    throw new ConfigError(`${file}:${error.line}: ${reason}`)
  }
  return toConfig(given, { file, text })
}

/** The effective configuration as TOML, secrets left out. */
export const formatConfig = (config: Config): string => {
  const printable: unknown = JSON.parse(
    JSON.stringify(config, (key, value: unknown) => toPrintable(key, value)),
  )
  return stringify(printable)
}

/** What `slotline config dump` prints without a file: every option, to begin a file of one's own from. */
export const EXAMPLE: Config = toConfig({
  networks: [{ id: 'mainnet', feed: { endpoint: 'http://127.0.0.1:10000' } }],
  locations: [{ id: 'home', name: 'Home', listeners: [{ host: '127.0.0.1', port: 8899 }] }],
})
