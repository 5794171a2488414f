import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parseToml, toConfig, type Config } from './config.js'
import { holdsSecret } from './printable.js'
import { fetchSecrets, type Environment } from './secrets/secret-sources.js'
import { readServiceFile } from './service-file.js'

/** A configuration with where it is from. */
export type LoadedConfig = {
  readonly config: Config
  readonly file: string
  /** The file itself has a secret, not only the name of a variable or of another file. */
  readonly holdsSecret: boolean
  /** Further files, each of which is a secret. */
  readonly secretFiles: readonly string[]
  /** Variables of the environment that are secrets. */
  readonly secretVariables: readonly string[]
}

/**
 * Reads a configuration file with the secrets that it names, and makes its paths absolute: they are
 * relative to its folder. Throws ConfigError with every fault. Where secrets are not needed, those
 * that are missing are replaced.
 */
export const loadConfig = (
  file: string,
  environment: Environment,
  { needsSecrets = true }: { readonly needsSecrets?: boolean } = {},
): LoadedConfig => {
  const text = readFileSync(file, 'utf8')
  const given = parseToml(text, file)
  const holds = holdsSecret(given)
  const folder = dirname(resolve(file))
  const found = fetchSecrets(given, { environment, folder, areNeeded: needsSecrets })
  return {
    config: toConfig(given, {
      source: { file, text, folder },
      known: found.faults,
      takesConstants: environment['SLOTLINE_TEST_CONSTANTS'] === '1',
    }),
    file: resolve(file),
    holdsSecret: holds,
    // Those of a service manager have a mode of their own, and its protection.
    secretFiles: found.files.filter(path => dirname(path) !== environment['CREDENTIALS_DIRECTORY']),
    secretVariables: found.variables,
  }
}

/** The configuration that the last service of a data directory ran with. */
export const loadServiceConfig = (
  dataDir: string,
  environment: Environment,
  options: { readonly needsSecrets?: boolean } = {},
): Config => {
  const service = readServiceFile(dataDir)
  // Of a sandbox.
  if ('config' in service) return toConfig(service.config, { takesConstants: true })
  const { config, file } = loadConfig(service.configFile, environment, options)
  if (config.dataDir !== resolve(dataDir))
    throw new Error(`the data directory of ${file} is now ${config.dataDir}, not ${dataDir}`)
  return config
}
