import { join } from 'node:path'
import { parse, stringify, TomlError } from 'smol-toml'
import * as v from 'valibot'
import { configSchema } from './schema.js'
import { closestWord } from './options-schema.js'
import { explainRenamed } from './renamed.js'
import { REDACTED } from '../shared/secret.js'
import { findTomlLine } from './toml-line.js'

/**
 * A configuration that cannot be used. The message is one line: where, what is wrong, what would be
 * right.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The effective configuration: plain frozen data, which may be sent to another process. */
export type Config = DeepReadonly<v.InferOutput<typeof configSchema>>

const freeze = <T>(value: T): DeepReadonly<T> => {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freeze)
  return Object.freeze(value) as DeepReadonly<T>
}

type Issue = v.BaseIssue<unknown>
type TableSchema = v.GenericSchema & { readonly entries: Readonly<Record<string, unknown>> }

const keysAt = (issue: Issue): string[] => issue.path?.map(({ key }) => String(key)) ?? []

const formatPath = (keys: readonly string[]): string =>
  keys
    .map(key => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '') || 'the file'

/** The schema of the table at this path, or undefined where there is none. */
const tableAt = (keys: readonly string[]): TableSchema | undefined => {
  let at: unknown = configSchema
  for (const key of [...keys, '']) {
    while (typeof at === 'object' && at !== null && !('entries' in at))
      at = 'wrapped' in at ? at.wrapped : 'item' in at ? at.item : undefined
    if (typeof at !== 'object' || at === null) return undefined
    if (key === '') return at as TableSchema
    if (!/^\d+$/.test(key)) at = (at as TableSchema).entries[key]
  }
  return undefined
}

/**
 * Options that are secrets, and those that may hold one: some feeds are reached by a secret in
 * their URL.
 */
const SECRETS: ReadonlySet<string> = new Set(['xToken', 'credential', 'clientSecret'])
const URLS: ReadonlySet<string> = new Set(['endpoint', 'urls', 'snapshots'])
/** What follows an upstream's URL: its query may hold a key that belongs into `credential`. */
const PATHS: ReadonlySet<string> = new Set([
  'path',
  'pingPath',
  'transactionPath',
  'bundlePath',
  'batchPath',
])

/** What may be printed of an option. */
const toPrintable = (key: string, value: unknown): unknown => {
  if (SECRETS.has(key)) return REDACTED
  if (PATHS.has(key) && typeof value === 'string') return value.replace(/\?.*$/s, `?${REDACTED}`)
  if (!URLS.has(key)) return value
  if (Array.isArray(value)) return value.map(url => toPrintable(key, url))
  if (typeof value !== 'string') return value
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
  // An element of a list is printed as the list's option is.
  const given = formatGiven(issue.input, keys.findLast(key => !/^\d+$/.test(key)) ?? '')
  if (issue.type !== 'strict_object')
    return `${path} must be ${issue.type === 'array' ? 'a list' : issue.message}, but is ${given}`
  if (issue.expected === 'Object') return `${path} must be a table, but is ${given}`
  if (issue.expected !== 'never') return `${path} is missing`
  const [tableKeys, option = ''] = [keys.slice(0, -1), keys.at(-1)]
  const table = tableAt(tableKeys)
  if (table === undefined) return `${path} is unknown`
  const tablePath = tableKeys.length === 0 ? '' : formatPath(tableKeys)
  const renamed = explainRenamed(table, tablePath, option)
  if (renamed !== undefined) return `${path} ${renamed}`
  const closest = closestWord(option, Object.keys(table.entries))
  return `${path} is unknown${closest === undefined ? '' : `; did you mean ${closest}?`}`
}

type Source = { readonly file: string; readonly text: string }

const fail = (source: Source | undefined, keys: readonly string[], message: string): never => {
  const line = source && findTomlLine(source.text, keys)
  const place =
    source === undefined ? '' : `${source.file}${line === undefined ? '' : `:${line}`}: `
  throw new ConfigError(`${place}${message}`)
}

const SYSTEM_PROGRAM = '11111111111111111111111111111111'

/** Why a feed's way to ask for accounts would miss some of the scope. */
const planFault = (
  plan: string,
  scope: Config['networks'][number]['scope'],
): string | undefined => {
  if (plan !== 'scoped' && plan !== 'narrow') return undefined
  if (scope === undefined) return `${plan} needs a scope`
  return plan === 'narrow' && scope.programs.includes(SYSTEM_PROGRAM)
    ? 'narrow cannot follow the System Program, because any transaction may empty a wallet'
    : undefined
}

/** What no single value shows: names that must differ, and ports that two would listen on. */
const checkTogether = (config: Config, source: Source | undefined): void => {
  for (const list of ['networks', 'locations', 'products'] as const) {
    const seen = new Set<string>()
    for (const [index, { id }] of config[list].entries()) {
      if (seen.has(id))
        fail(source, [list, String(index), 'id'], `${list}[${index}].id is ${id} a second time`)
      seen.add(id)
    }
  }
  for (const [index, network] of config.networks.entries()) {
    const { accountsRpc, repairSteps, scope, snapshots } = network
    const lacks = {
      rpc: accountsRpc === undefined || scope === undefined ? 'accountsRpc and scope' : undefined,
      incremental: snapshots.length === 0 ? 'snapshots' : undefined,
      snapshot: snapshots.length === 0 ? 'snapshots' : undefined,
    }
    const step = repairSteps.find(name => lacks[name] !== undefined)
    const keys = ['networks', String(index), 'repairSteps']
    if (step !== undefined)
      fail(source, keys, `networks[${index}].repairSteps: ${step} needs ${lacks[step]}`)
    if (repairSteps.includes('incremental') && repairSteps.includes('snapshot'))
      if (snapshots.length < 2)
        fail(
          source,
          keys,
          `networks[${index}].repairSteps: incremental and snapshot need two snapshots, a full one and an incremental one`,
        )
  }
  for (const [index, { feed, scope }] of config.networks.entries())
    for (const [place, { plan = feed.plan }] of [feed, ...feed.fallbacks].entries()) {
      const fault = planFault(plan, scope)
      const at = place === 0 ? 'feed' : `feed.fallbacks[${place - 1}]`
      const keys = ['networks', String(index), 'feed']
      if (fault !== undefined) fail(source, keys, `networks[${index}].${at}.plan: ${fault}`)
    }
  for (const [index, { lander }] of config.networks.entries()) {
    const own = new Set(lander?.tipAddresses)
    const twice = lander?.serviceTipAddresses.find(address => own.has(address))
    const keys = ['networks', String(index), 'lander', 'serviceTipAddresses']
    if (twice !== undefined)
      fail(source, keys, `networks[${index}].lander: ${twice} is a tip address of both kinds`)
  }
  for (const [index, product] of config.products.entries())
    for (const list of ['networks', 'locations'] as const) {
      const known = new Set(config[list].map(({ id }) => id))
      const other = product[list]?.find(id => !known.has(id))
      const keys = ['products', String(index), list]
      if (other !== undefined)
        fail(source, keys, `products[${index}].${list}: ${other} is none of ${list}`)
    }
  for (const [index, network] of config.networks.entries())
    for (const route of ['relay', 'relayBundle'] as const) {
      const own = new Set(network[route]?.engineTipAddresses)
      const twice = network[route]?.serviceTipAddresses.find(address => own.has(address))
      const keys = ['networks', String(index), route, 'serviceTipAddresses']
      if (twice !== undefined)
        fail(source, keys, `networks[${index}].${route}: ${twice} is a tip address of both kinds`)
    }
  const taken = new Map([[`${config.metrics.host}:${config.metrics.port}`, 'metrics']])
  const { host, port } = config.dashboard
  if (taken.has(`${host}:${port}`))
    fail(source, ['dashboard', 'port'], `${host}:${port} is used by metrics and by the dashboard`)
  taken.set(`${host}:${port}`, 'the dashboard')
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
  const result = v.safeParse(configSchema, given)
  if (!result.success) {
    // A misspelled key is the reason where another is missing.
    const issue = result.issues.find(({ expected }) => expected === 'never') ?? result.issues[0]
    return fail(source, keysAt(issue), explain(issue))
  }
  const { access, dataDir } = result.output
  const keyFile = access.keyFile || join(dataDir, 'access.key')
  const adminTokenFile = access.adminTokenFile || join(dataDir, 'admin.token')
  const config = freeze({ ...result.output, access: { ...access, keyFile, adminTokenFile } })
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

/**
 * What `slotline config dump` prints without a file: every option, to begin a file of one's own
 * from.
 */
export const EXAMPLE: Config = toConfig({
  networks: [{ id: 'mainnet', feed: { endpoint: 'http://127.0.0.1:10000' } }],
  locations: [{ id: 'home', name: 'Home', listeners: [{ host: '127.0.0.1', port: 8899 }] }],
})
