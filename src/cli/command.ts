import type { Config } from '../config/config.js'

/** Reads and checks a configuration file. */
export type LoadConfig = (file: string) => Promise<Config>

type Network = Config['networks'][number]

/** A network of the configuration. Throws if there is none with this id. */
export const demandNetwork = (config: Config, id: string): Network => {
  const network = config.networks.find(network => network.id === id)
  if (network === undefined) throw new Error(`no network ${id}`)
  return network
}

/** First line of an error, as printed by commands. */
export const formatError = (error: unknown): string => {
  const [line = ''] = String(error instanceof Error ? error.message : error).split('\n', 1)
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
