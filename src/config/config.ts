import { join } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import * as v from 'valibot'
import { checkTogether } from './checks.js'
import { explain, keysOf } from './errors/explain.js'
import { configSchema, type Config } from './schema.js'
import { findTomlLine } from './errors/toml-line.js'

/** An invalid configuration. The message is one line: position, error, and the valid value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export type { Config } from './schema.js'

const freeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return
  Object.values(value).forEach(freeze)
  Object.freeze(value)
}

type Source = { readonly file: string; readonly text: string }

const toError = (
  source: Source | undefined,
  keys: readonly string[],
  message: string,
): ConfigError => {
  if (source === undefined) return new ConfigError(message)
  const line = findTomlLine(source.text, keys)
  return new ConfigError(`${source.file}${line === undefined ? '' : `:${line}`}: ${message}`)
}

/** Checks a parsed configuration, fills in the defaults and freezes it. Throws ConfigError. */
export const toConfig = (given: unknown, source?: Source): Config => {
  const result = v.safeParse(configSchema, given)
  if (!result.success) {
    // A misspelled option is reported before the missing option that it causes.
    const issue = result.issues.find(({ expected }) => expected === 'never') ?? result.issues[0]
    throw toError(source, keysOf(issue), explain(issue))
  }
  const { access, dataDir } = result.output
  const keyFile = access.keyFile || join(dataDir, 'access.key')
  const adminTokenFile = access.adminTokenFile || join(dataDir, 'admin.token')
  const config: Config = { ...result.output, access: { ...access, keyFile, adminTokenFile } }
  freeze(config)
  for (const { keys, message } of checkTogether(config)) throw toError(source, keys, message)
  return config
}

/** Parses the text of a configuration file; `file` names it in errors. Throws ConfigError. */
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

/** Output of `slotline config dump` without a file: every option, as a template for a new file. */
export const EXAMPLE: Config = toConfig({
  networks: [{ id: 'mainnet', feed: { endpoint: 'http://127.0.0.1:10000' } }],
  locations: [{ id: 'home', name: 'Home', listeners: [{ host: '127.0.0.1', port: 8899 }] }],
})
