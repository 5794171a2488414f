import { setTimeout as sleep } from 'node:timers/promises'
import { Option, type Command } from 'commander'
import { ADMIN_ROLES } from '../../access/tokens/admin-tokens.js'
import type { ResealState } from '../../access/tokens/resealer.js'
import { adminCommand, askAdmin, callAndPrint, printAnswer, type Where } from './admin-command.js'
import { instantOrNever } from '../arguments.js'
import type { ConfigLoader } from '../command.js'

/** How often a command asks how far the resealing is. */
const POLL_MS = 200

const addTokenCommands = (root: Command, load: ConfigLoader): void => {
  const token = root.command('token').description('manage tokens of the admin API')
  adminCommand(token, 'list', 'list the admin tokens of this machine, masked').action(
    (where: Where) => callAndPrint(load, where, { method: 'GET', path: '/tokens' }),
  )
  adminCommand(token, 'make <name>', 'make an admin token, and show it this once')
    .addOption(
      new Option('--role <role>', 'to read, or to change too')
        .choices(ADMIN_ROLES)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--until <time>', 'end time, or never').argParser(instantOrNever).default('never'),
    )
    .action((name: string, { role, until, ...where }) =>
      callAndPrint(load, where, {
        method: 'POST',
        path: '/tokens',
        body: { name, role, validUntilMs: until === 'never' ? null : until },
      }),
    )
  adminCommand(token, 'end <name>', 'end an admin token; it is invalid when this returns').action(
    (name: string, where: Where) =>
      callAndPrint(load, where, { method: 'DELETE', path: `/tokens/${encodeURIComponent(name)}` }),
  )
  adminCommand(
    token,
    'renew',
    'replace the token in access.adminTokenFile; the former one is invalid when this returns',
  ).action((where: Where) =>
    callAndPrint(load, where, { method: 'POST', path: '/tokens/file/renew' }),
  )
}

/** Has everything sealed with a new key, and waits for the end of it. */
const reseal = async (load: ConfigLoader, where: Where): Promise<void> => {
  let request: Parameters<typeof askAdmin>[2] = { method: 'POST', path: '/sealing/reseal' }
  for (;;) {
    const state = (await askAdmin(load, where, request)) as ResealState
    if (state.state === 'failed') throw new Error(`it failed: ${state.reason ?? 'see the log'}`)
    if (state.state !== 'running') return printAnswer(state, where)
    request = { method: 'GET', path: '/sealing' }
    await sleep(POLL_MS)
  }
}

/** `slotline admin …`: the secrets of the service itself, replaced while it runs. */
export const addAdminCommands = (program: Command, load: ConfigLoader): void => {
  const root = program.command('admin').description('replace the secrets of the service itself')
  addTokenCommands(root, load)
  adminCommand(
    root,
    'reseal',
    'make a new sealing key, and seal every token and webhook with it; continues an interrupted one',
  ).action((where: Where) => reseal(load, where))
}
