import type { Command } from 'commander'
import { EXAMPLE } from '../config/config.js'
import { formatConfig } from '../config/printable.js'
import type { LoadConfig } from './command.js'

/** `slotline config`: checks and prints configurations; does not need the addon. */
export const addConfigCommands = (program: Command, load: LoadConfig): void => {
  const config = program.command('config').description('check and print configurations')
  config
    .command('check <file>')
    .description('print what is wrong in a file')
    .action(file => void load(file))
  config
    .command('dump [file]')
    .description('print the effective configuration; without a file, all defaults')
    .action(file => void process.stdout.write(formatConfig(file ? load(file) : EXAMPLE)))
}
