import { setPriority } from 'node:os'
import type { Command } from 'commander'
import type { Config } from '../config/config.js'
import { defaults } from '../storage/verify-options.js'
import type { Verification } from '../storage/verify.js'
import { integer } from './arguments.js'
import { demandNetwork, exitWithAnswer, withService, type ConfigLoader } from './command.js'

/** All other work on the machine has priority. */
const NICENESS = 10

/** The upper bound means no limit. */
const rate = integer(1, 1_000_000_000)

const formatVerification = (found: Verification, differencesMax: number): string => {
  const { differences, generation, network, rows, seconds, uncountedPrograms } = found
  const count = found.isSound ? 'no differences' : `${differences.length} differences`
  const cost = `${rows.toLocaleString('en')} rows in ${seconds} s`
  return [
    `network ${network}, store ${generation}: ${count} (${cost})`,
    ...differences.map(line => `  ${line}`),
    ...(differences.length >= differencesMax ? ['stopped here: there may be more'] : []),
    ...(uncountedPrograms === 0
      ? []
      : [
          `${uncountedPrograms} programs have too many accounts to count each: only their sum was compared`,
        ]),
    '',
  ].join('\n')
}

const verify = async (
  config: Config,
  options: { readonly network?: string; readonly rate?: number; readonly json?: boolean },
): Promise<0 | 1> => {
  const { createProgress } = await import('./progress.js')
  const { toStoreOptions } = await import('../storage/store-options.js')
  const { verifyStore } = await import('../storage/verify.js')
  process.title = 'slotline verify'
  setPriority(NICENESS)
  const { network: only, rate: rowsPerSecondMax = config.verify.rowsPerSecondMax } = options
  const networks = only === undefined ? config.networks : [demandNetwork(config, only)]
  const all: Verification[] = []
  for (const { id: network } of networks) {
    const progress = createProgress('rows')
    const found = await verifyStore({
      dataDir: config.dataDir,
      network,
      storeOptions: toStoreOptions(config, network),
      bounds: { ...config.verify, rowsPerSecondMax },
      onProgress: (rows, total, table) => progress.show(rows, total, `verify ${network}, ${table}`),
    }).finally(progress.end)
    all.push(found)
    if (!options.json) process.stdout.write(formatVerification(found, config.verify.differencesMax))
  }
  const isSound = all.every(found => found.isSound)
  if (options.json) process.stdout.write(`${JSON.stringify({ isSound, networks: all })}\n`)
  return isSound ? 0 : 1
}

/**
 * `slotline verify`: exit code 0 without differences, 1 with differences, 2 if it cannot verify.
 */
export const addVerifyCommand = (program: Command, load: ConfigLoader): void => {
  withService(program.command('verify'))
    .description('recompute the indexes from the accounts and compare, beside a running service')
    .option('--network <id>', 'only this network')
    .option('--rate <rows>', `rows per second (default: ${defaults.rowsPerSecondMax})`, rate)
    .option('--json', 'print the result as one line of JSON')
    .action(options => exitWithAnswer(async () => verify(await load.service(options), options)))
}
