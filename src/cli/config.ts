import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import { MAINNET_BYTES_PER_SECOND } from '../ingest/feed/geyser.js'
import { memoryBytes } from '../storage/store-options.js'
import { integer } from './arguments.js'
import { UsageError, type ConfigLoader, type ServiceOptions } from './command.js'
import { formatDuration } from './format-duration.js'

/** Prints each line as an error. */
const report = (lines: readonly string[], kind = ''): void => {
  for (const line of lines) process.stderr.write(`slotline: ${kind}${line}\n`)
}

const MEGABYTE = 1e6

/** What the bounds of each network's feed mean on this machine. */
const describeBounds = async (config: Config, feedRate: number): Promise<string> => {
  const { freeBytesOf, timeBoundsOf } = await import('../config/machine/time-bounds.js')
  const machine = { memoryBytes: memoryBytes(), freeBytes: freeBytesOf(config.dataDir) }
  return config.networks
    .map(({ id, feed }) => {
      const bounds = timeBoundsOf(config, feed, feedRate * MEGABYTE, machine)
      const rows = bounds.map(({ what, seconds, bytes, boundBy }) => {
        const size = `${(bytes / 1e9).toFixed(1)} GB`
        return `  ${formatDuration(Math.floor(seconds)).padStart(10)} ${size.padStart(10)}  ${what} (${boundBy})\n`
      })
      return `${id}, if its feed brings ${feedRate} MB/s:\n${rows.join('')}`
    })
    .join('')
}

type CheckOptions = { readonly strict?: boolean; readonly feedRate: number }

/**
 * Prints all that `serve` would refuse and then what it would warn of, or that it is valid and what
 * its bounds mean in seconds.
 */
const check = async (
  load: ConfigLoader,
  file: string,
  { strict = false, feedRate }: CheckOptions,
): Promise<void> => {
  let bounds = ''
  const { ConfigError, formatFaults } = await import('../config/config.js')
  const { checkMachine } = await import('../config/machine/machine-checks.js')
  const { demandPrivateFiles } = await import('../config/secrets/private-files.js')
  const further = async (config: Config): Promise<void> => {
    const source = { file, text: readFileSync(file, 'utf8') }
    const { faults, warnings } = checkMachine(config)
    report(formatFaults(faults, source))
    report(formatFaults(warnings, source), 'warning: ')
    if (faults.length > 0 || (strict && warnings.length > 0)) process.exitCode = 1
    bounds = await describeBounds(config, feedRate)
  }
  try {
    const loaded = await load.file(file)
    await further(loaded.config)
    demandPrivateFiles(loaded)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    report(error.faults)
    process.exitCode = 1
    if (error.repaired !== undefined) await further(error.repaired)
  }
  if (process.exitCode === undefined) process.stdout.write(`${file} is valid\n${bounds}`)
}

const dump = async (
  load: ConfigLoader,
  file: string | undefined,
  { all = false, ...service }: ServiceOptions & { readonly all?: boolean },
): Promise<void> => {
  const { EXAMPLE } = await import('../config/config.js')
  const { formatConfig } = await import('../config/printable.js')
  const hasService = file !== undefined || service.dataDir !== undefined
  if (file !== undefined && service.dataDir !== undefined)
    throw new UsageError('give either a file or --data-dir <dir>')
  if (all && hasService) throw new UsageError('--all prints defaults: it takes no file')
  if (all) {
    const { formatDefaults } = await import('../config/defaults-page.js')
    process.stdout.write(formatDefaults())
    return
  }
  const config = hasService
    ? await load.service({ ...service, ...(file && { config: file }) })
    : EXAMPLE
  process.stdout.write(formatConfig(config))
}

/** `slotline config`: checks and prints configurations; does not need the addon. */
export const addConfigCommands = (program: Command, load: ConfigLoader): void => {
  const config = program.command('config').description('check and print configurations')
  config
    .command('check <file>')
    .description('print everything that is wrong with a file, on this machine')
    .option('--strict', 'exit with code 1 for a warning, too')
    .option(
      '--feed-rate <MB/s>',
      'what the feeds bring, uncompressed; the default is all of mainnet',
      integer(1, 1_000_000),
      MAINNET_BYTES_PER_SECOND / MEGABYTE,
    )
    .action((file, options) => check(load, file, options))
  config
    .command('dump [file]')
    .description('print the effective configuration; without a file, that of an example')
    .option('--data-dir <dir>', 'that of the service with this data directory')
    .option('--all', 'print every option with its default, unit and reason, as comments')
    .action((file, options) => dump(load, file, options))
}
