import type { Command } from 'commander'
import type { LoadConfig } from './command.js'

/** `slotline config`: checks and prints configurations; does not need the addon. */
export const addConfigCommands = (program: Command, load: LoadConfig): void => {
  const config = program.command('config').description('check and print configurations')
  config
    .command('check <file>')
    .description('validate a file and print its first problem')
    .action(async file => void (await load(file)))
  config
    .command('dump [file]')
    .description('print the effective configuration; without a file, all defaults')
    .action(async file => {
      const { EXAMPLE } = await import('../config/config.js')
      const { formatConfig } = await import('../config/printable.js')
      process.stdout.write(formatConfig(file ? await load(file) : EXAMPLE))
    })
}
