import { Option, type Command } from 'commander'
import type { Config } from '../config/config.js'
import type { LoadedConfig } from '../config/load.js'
import { explainError } from '../shared/files/system-error.js'

/** The service that a command is about: its configuration, or its data directory. */
export type ServiceOptions = { readonly config?: string; readonly dataDir?: string }

/** Reads and checks configurations. */
export type ConfigLoader = {
  /** The environment of the command, with the secrets that leave that of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** A file, with every secret that it names; they leave the environment of this process. */
  readonly file: (file: string) => Promise<LoadedConfig>
  /** That of a service. A secret that is not available is replaced, unless it `needsSecrets`. */
  readonly service: (
    options: ServiceOptions,
    needs?: { readonly needsSecrets: boolean },
  ) => Promise<Config>
}

/** A wrong command line, which exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Adds options that name a service of this machine or a sandbox, of which one may be given. */
export const withServiceOptions = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration of the service on this machine')
    .addOption(
      new Option(
        '--data-dir <dir>',
        'its data directory, in place of --config; also that of a sandbox',
      ).conflicts('config'),
    )

/** The same, of which one must be given. */
export const withService = (command: Command): Command =>
  withServiceOptions(command).hook('preAction', (_command, action) => {
    const { config, dataDir } = action.opts<ServiceOptions>()
    if (config === undefined && dataDir === undefined)
      throw new UsageError('give --config <file> or --data-dir <dir>')
  })

type Network = Config['networks'][number]

/** A network of the configuration. Throws if there is none with this id. */
export const demandNetwork = (config: Config, id: string): Network => {
  const network = config.networks.find(network => network.id === id)
  if (network === undefined) throw new Error(`no network ${id}`)
  return network
}

/** The options that name a store. */
export type StoreOf = { readonly network?: string; readonly access?: boolean }

/** The network that is named; undefined is the access store. Throws unless one of them is. */
export const demandStoreOf = ({ network, access = false }: StoreOf): string | undefined => {
  if ((network !== undefined) === access) throw new UsageError('name --network <id> or --access')
  return network
}

/** First line of an error, as printed by commands. */
export const formatError = (error: unknown): string => {
  const [line = ''] = explainError(error).split('\n', 1)
  return `slotline: ${line}\n`
}

/**
 * Runs a command whose exit code 1 is an answer, such as an unhealthy network; an error exits with
 * code 2.
 */
export const exitWithAnswer = async (run: () => Promise<0 | 1>): Promise<void> => {
  try {
    process.exitCode = await run()
  } catch (error) {
    process.stderr.write(formatError(error))
    process.exitCode = 2
  }
}
