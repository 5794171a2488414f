import { join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import * as v from 'valibot'
import { checkTogether, type Fault } from './checks.js'
import { putConstants, takeConstants, type GivenConstant } from './constants.js'
import { explain, keysOf, withoutConsequences } from './errors/explain.js'
import { repair } from './errors/repair.js'
import { findTomlLine } from './errors/toml-line.js'
import { mapTexts } from './options.js'
import { isPath, PATHS } from './paths.js'
import { configSchema, type Config } from './schema.js'

/**
 * An invalid configuration. Each fault is one line: position, error, and the valid value. The
 * message is the first one.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly string[]
  /** The configuration with other values in place of the wrong ones, for further checks. */
  readonly repaired: Config | undefined

  constructor(faults: readonly string[], repaired?: Config) {
    const [first = '', ...more] = faults
    super(more.length === 0 ? first : `${first} (and ${more.length} more: slotline config check)`)
    this.faults = faults
    this.repaired = repaired
  }
}

export type { Config } from './schema.js'

const freeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return
  Object.values(value).forEach(freeze)
  Object.freeze(value)
}

/** Where a configuration is from. */
export type Source = {
  /** Its name in errors. */
  readonly file: string
  readonly text: string
  /** Paths are relative to this folder; absent leaves them as they are. */
  readonly folder?: string
}

/** After every line of a file. */
const LINES_MAX = Number.MAX_SAFE_INTEGER

/** Faults as lines, in the order of the file; last those that are nowhere in it. */
export const formatFaults = (faults: readonly Fault[], source?: Source): string[] => {
  if (source === undefined) return faults.map(({ message }) => message)
  const placed = faults.map(({ keys, message }) => ({
    line: findTomlLine(source.text, keys),
    message,
  }))
  return placed
    .toSorted((one, other) => (one.line ?? LINES_MAX) - (other.line ?? LINES_MAX))
    .map(({ line, message }) => `${source.file}${line === undefined ? '' : `:${line}`}: ${message}`)
}

/** What a checked configuration is completed with. */
type Completion = {
  readonly constants: readonly GivenConstant[]
  readonly folder: string | undefined
}

/** Makes paths absolute. */
const resolvePaths = (config: object, folder: string): void => {
  for (const { keys } of PATHS)
    mapTexts(config, keys, path => (isPath(path) ? resolve(folder, path) : path))
}

type Output = v.InferOutput<typeof configSchema>

const complete = (output: Output, { constants, folder }: Completion): Config => {
  putConstants(output, constants)
  if (folder !== undefined) resolvePaths(output, folder)
  const { access, dataDir } = output
  const keyFile = access.keyFile || join(dataDir, 'access.key')
  const adminTokenFile = access.adminTokenFile || join(dataDir, 'admin.token')
  const config: Config = { ...output, access: { ...access, keyFile, adminTokenFile } }
  freeze(config)
  return config
}

const isInside = (keys: readonly string[], other: readonly string[]): boolean =>
  keys.slice(0, other.length).every((key, at) => key === other[at])

/** Faults of several options of which none is one of `wrong`. */
const togetherFaults = (config: Config, wrong: readonly (readonly string[])[]): Fault[] =>
  Array.from(checkTogether(config)).filter(
    ({ keys }) => !wrong.some(other => isInside(keys, other) || isInside(other, keys)),
  )

/** How a parsed configuration is checked. */
export type Checking = {
  readonly source?: Source
  /** Faults that are known already. */
  readonly known?: readonly Fault[]
  /** Constants of parts are accepted where options are: of a sandbox, or of a test. */
  readonly takesConstants?: boolean
}

/**
 * Checks a parsed configuration, fills in the defaults and freezes it. Throws ConfigError with
 * every fault.
 */
export const toConfig = (
  given: unknown,
  { source, known = [], takesConstants = false }: Checking = {},
): Config => {
  const options = takesConstants ? structuredClone(given) : given
  const completion = {
    constants: takesConstants ? takeConstants(options) : [],
    folder: source?.folder,
  }
  const result = v.safeParse(configSchema, options)
  if (result.success) {
    // The defaults of an absent section belong to the schema.
    const config = complete(structuredClone(result.output), completion)
    const faults = [...known, ...togetherFaults(config, [])]
    if (faults.length > 0) throw new ConfigError(formatFaults(faults, source), config)
    return config
  }
  const issues = withoutConsequences(result.issues)
  const faults = [
    ...known,
    ...issues.map(issue => ({ keys: keysOf(issue), message: explain(issue) })),
  ]
  const repaired = v.safeParse(configSchema, repair(options, result.issues))
  if (!repaired.success) throw new ConfigError(formatFaults(faults, source))
  const config = complete(structuredClone(repaired.output), completion)
  faults.push(...togetherFaults(config, result.issues.map(keysOf)))
  throw new ConfigError(formatFaults(faults, source), config)
}

/** Parses TOML; `file` names it in errors. Throws ConfigError. */
export const parseToml = (text: string, file: string): unknown => {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.replace('Invalid TOML document: ', '').split('\n')
    throw new ConfigError([`${file}:${error.line}: ${reason}`])
  }
}

/** Parses the text of a configuration file; `file` names it in errors. Throws ConfigError. */
export const parseConfig = (
  text: string,
  file: string,
  checking: Pick<Checking, 'takesConstants'> = {},
): Config => toConfig(parseToml(text, file), { ...checking, source: { file, text } })

/** Output of `slotline config dump` without a file: every option, as a template for a new file. */
export const EXAMPLE: Config = toConfig({
  networks: [{ id: 'mainnet', feed: { endpoint: 'http://127.0.0.1:10000' } }],
  locations: [{ id: 'home', name: 'Home', listeners: [{ host: '127.0.0.1', port: 8899 }] }],
})
