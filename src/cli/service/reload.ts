import type { Command } from 'commander'
import { explainError } from '../../shared/files/system-error.js'
import { exitWithAnswer, withService, type ConfigLoader, type ServiceOptions } from '../command.js'

/**
 * The data directory of a service. The running one is found by the name of its file, which may be
 * faulty or absent now.
 */
const dataDirOf = async (
  load: ConfigLoader,
  { config, dataDir }: ServiceOptions,
): Promise<string> => {
  if (config === undefined) return dataDir ?? ''
  const { findRunningService } = await import('./running-service.js')
  const found = findRunningService(config)
  if (found !== undefined) return found
  try {
    return (await load.service({ config })).dataDir
  } catch (error) {
    const why = explainError(error)
    throw new Error(`${why}; no service runs with ${config}`, { cause: error })
  }
}

type Kind = 'reload' | 'upgrade'

const addChangeCommand = (
  program: Command,
  load: ConfigLoader,
  { kind, description }: { readonly kind: Kind; readonly description: string },
): void => {
  withService(program.command(kind))
    .description(description)
    .action(options =>
      exitWithAnswer(async () => {
        const { changeService } = await import('./change.js')
        return changeService(await dataDirOf(load, options), kind)
      }),
    )
}

/** `slotline reload`: exit code 0 if it is loaded, 1 if it is refused or failed, else 2. */
export const addReloadCommand = (program: Command, load: ConfigLoader): void =>
  addChangeCommand(program, load, {
    kind: 'reload',
    description: 'have the running service read its configuration again, without a dropped request',
  })

/** `slotline upgrade`: exit code 0 if the new build runs, 1 if the former one continues, else 2. */
export const addUpgradeCommand = (program: Command, load: ConfigLoader): void =>
  addChangeCommand(program, load, {
    kind: 'upgrade',
    description:
      'replace every process of the running service by the build on the disk, without a dropped request',
  })
