import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { AccessStore } from '../../access/store/access-store.js'
import type { Administration } from '../../cluster/administration.js'
import type { Config } from '../../config/config.js'
import { createLog } from '../../shared/log.js'
import type { ConfigLoader } from '../command.js'
import { formatMachines } from './format-machines.js'

type Where = { readonly config: string; readonly certFile: string; readonly keyFile: string }

type Opened = {
  readonly config: Config
  readonly cluster: NonNullable<Config['cluster']>
  readonly administration: Administration
}

const withAdministration = async (
  load: ConfigLoader,
  where: Where,
  run: (opened: Opened) => Promise<void>,
): Promise<void> => {
  const config = await load.service({ config: where.config })
  const { cluster } = config
  if (cluster === undefined) throw new Error(`${where.config} has no section [cluster]`)
  const { Administration } = await import('../../cluster/administration.js')
  const { connectEtcd } = await import('../../cluster/connection.js')
  const { OPERATOR } = await import('../../cluster/roles.js')
  const etcd = await connectEtcd({ ...cluster, ...where }, OPERATOR)
  try {
    await run({ config, cluster, administration: new Administration(etcd, cluster.id) })
  } finally {
    etcd.close()
  }
}

/** Opens the accesses of this machine, which a new cluster takes over. */
const withOwnAccesses = async (
  { access, dataDir }: Config,
  run: (store: AccessStore | undefined) => Promise<void>,
): Promise<void> => {
  if (!existsSync(join(dataDir, 'access'))) return run(undefined)
  const { lockFile } = await import('../../native/os.js')
  if (!lockFile(join(dataDir, 'supervisor.lock')))
    throw new Error(
      `a Slotline runs on ${dataDir}: stop it, so that its accesses can be taken over`,
    )
  const { openWriter } = await import('../../access/store/store.js')
  const store = await openWriter(dataDir, access.store)
  try {
    await run(store)
  } finally {
    await store.close()
  }
}

/** Writes the accesses of the cluster as a machine that follows it would have them. */
const exportAccesses = async (
  { access, store: { diskReserveBytes } }: Config,
  administration: Administration,
  target: string,
): Promise<void> => {
  const { backUpAccess } = await import('../../access/store/backup.js')
  const { openWriter } = await import('../../access/store/store.js')
  const { readSealingKeyId } = await import('../../access/tokens/sealing.js')
  const readKeyId = () => readSealingKeyId(access.keyFile)
  // Not while they are sealed with another key.
  readKeyId()
  const { epoch, revision, accesses } = await administration.accesses()
  const dataDir = mkdtempSync(join(tmpdir(), 'slotline-export-'))
  try {
    const store = await openWriter(dataDir, access.store)
    await store.transaction(() => {
      store.replaceAll(accesses, revision)
      store.setCluster({ epoch, instance: randomUUID(), lastBeat: 0, added: 0, place: '' })
    })
    await store.close()
    const options = { dataDir, storeOptions: access.store, diskReserveBytes, readKeyId }
    const { bytes } = await backUpAccess(target, options)
    process.stdout.write(
      `${target}: ${accesses.length} accesses as of revision ${revision}, ${bytes} bytes\n`,
    )
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const command = (parent: Command, name: string, description: string): Command =>
  parent
    .command(name)
    .description(description)
    .requiredOption('--config <file>', 'configuration with the section [cluster]')
    .requiredOption('--cert-file <file>', 'certificate of the operator, whose name is root')
    .requiredOption('--key-file <file>', 'its key')

/** `slotline cluster …`: which machines share their accesses, kept in etcd. */
export const addClusterCommands = (program: Command, load: ConfigLoader): void => {
  const root = program.command('cluster').description('manage machines that share their accesses')
  command(root, 'init', 'make a cluster, with the accesses of this machine').action(
    (where: Where) =>
      withAdministration(load, where, ({ config, administration }) =>
        withOwnAccesses(config, async store => {
          const count = await administration.init(randomBytes, store)
          process.stdout.write(
            `cluster ${config.cluster?.id ?? ''}: ${count} accesses taken over\n`,
          )
        }),
      ),
  )
  command(root, 'add <machine>', 'add a machine')
    .requiredOption('--location <id>', 'the location that it serves')
    .option('--control', 'it may change accesses', false)
    .action((machine: string, { location, control, ...where }) =>
      withAdministration(load, where, async ({ administration }) => {
        await administration.add(machine, location, control)
        process.stdout.write(`${machine} added at ${location}\n`)
      }),
    )
  command(root, 'control <machine>', 'let a machine change accesses')
    .option('--off', 'it may not any more', false)
    .action((machine: string, { off, ...where }) =>
      withAdministration(load, where, async ({ administration }) => {
        await administration.setControl(machine, !off)
        process.stdout.write(`${machine} may ${off ? 'not ' : ''}change accesses\n`)
      }),
    )
  command(root, 'remove <machine>', 'remove a machine, once its lease has ended').action(
    (machine: string, where: Where) =>
      withAdministration(load, where, async ({ administration, cluster }) => {
        await administration.remove(machine, cluster)
        process.stdout.write(`${machine} removed\n`)
      }),
  )
  command(root, 'rebuild', 'make the cluster again with the accesses of this machine').action(
    (where: Where) =>
      withAdministration(load, where, ({ config, administration }) =>
        withOwnAccesses(config, async store => {
          const { id = '', machine = '' } = config.cluster ?? {}
          const count = await administration.rebuild(randomBytes, store, machine)
          process.stdout.write(
            `cluster ${id}: made again with ${count} accesses; add the machines that ` +
              '`slotline cluster machines` does not list, and remove access/ of every other one\n',
          )
        }),
      ),
  )
  command(root, 'export', 'write all accesses into a backup, for `slotline restore --access`')
    .requiredOption('--to <dir>', 'folder to create; its parent must exist')
    .action(({ to, ...where }: Where & { readonly to: string }) =>
      withAdministration(load, where, ({ config, administration }) =>
        exportAccesses(config, administration, resolve(to)),
      ),
    )
  command(root, 'machines', 'list the machines').action((where: Where) =>
    withAdministration(load, where, async ({ administration, cluster }) => {
      const { bootMs } = await import('../../native/os.js')
      const logger = createLog('cluster', line => process.stderr.write(`${line}\n`))
      const { isBroken, machines } = await administration.machines(cluster, { bootMs, logger })
      process.stdout.write(formatMachines(machines))
      if (isBroken)
        process.stdout.write(
          `cluster ${cluster.id} is broken: etcd has lost changes that were made, and no machine ` +
            'answers; make it again with slotline cluster rebuild (docs/cluster.md)\n',
        )
    }),
  )
}
