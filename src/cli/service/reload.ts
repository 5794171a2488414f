import type { Command } from 'commander'
import { exitWithAnswer, withService, type ConfigLoader, type ServiceOptions } from '../command.js'

/** The data directory of a service, also where its configuration is faulty now. */
const dataDirOf = async (
  load: ConfigLoader,
  { config, dataDir }: ServiceOptions,
): Promise<string> => {
  if (dataDir !== undefined) return dataDir
  const { ConfigError } = await import('../../config/config.js')
  try {
    return (await load.service(config === undefined ? {} : { config })).dataDir
  } catch (error) {
    if (error instanceof ConfigError && error.repaired !== undefined) return error.repaired.dataDir
    throw error
  }
}

/** `slotline reload`: exit code 0 if it is loaded, 1 if it is refused or failed, else 2. */
export const addReloadCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('reload'))
    .description('have the running service read its configuration again, without a dropped request')
    .action(options =>
      exitWithAnswer(async () => {
        const { changeService } = await import('./change.js')
        return changeService(await dataDirOf(load, options), 'reload')
      }),
    )
}
