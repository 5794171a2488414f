import type { Command } from 'commander'
import type { AdminCall } from './admin-client.js'
import {
  UsageError,
  withServiceOptions,
  type ConfigLoader,
  type ServiceOptions,
} from '../command.js'

/** Where the admin API is, and how its answer is printed. */
export type Where = ServiceOptions & {
  readonly url?: string
  readonly tokenFile?: string
  readonly json?: boolean
}

/** Calls the admin API; undefined if the answer is empty. */
export const askAdmin = async (
  load: ConfigLoader,
  where: Where,
  request: AdminCall,
): Promise<unknown> => {
  const { callAdmin, targetOf } = await import('./admin-client.js')
  const hasService = where.config !== undefined || where.dataDir !== undefined
  const own = hasService ? targetOf(await load.service(where)) : undefined
  const url = where.url ?? own?.url
  const tokenFile = where.tokenFile ?? own?.tokenFile
  if (url === undefined || tokenFile === undefined)
    throw new UsageError('give --config <file>, --data-dir <dir>, or both --url and --token-file')
  return callAdmin({ url: url.replace(/\/$/, ''), tokenFile }, request)
}

/** Prints an answer. */
export const printAnswer = (answer: unknown, { json = false }: Where): void => {
  if (answer !== undefined) process.stdout.write(`${JSON.stringify(answer, null, json ? 0 : 2)}\n`)
}

/** Calls the admin API and prints the answer. */
export const callAndPrint = async (
  load: ConfigLoader,
  where: Where,
  request: AdminCall,
): Promise<void> => printAnswer(await askAdmin(load, where, request), where)

/** A command with the options of the admin API's address and token, and of its output. */
export const adminCommand = (parent: Command, name: string, description: string): Command =>
  withServiceOptions(parent.command(name))
    .description(description)
    .option('--url <url>', 'the dashboard, in place of that of the configuration')
    .option('--token-file <file>', 'the admin token, in place of that of the configuration')
    .option('--json', 'print the answer as one line of JSON')
