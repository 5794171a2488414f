import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { MachineOfSandbox, SandboxFlags } from '../../sandbox/config.js'
import { ensureCertificates } from '../../sandbox/machines/certificates.js'
import { ensureCluster } from '../../sandbox/machines/ensure-cluster.js'
import { EtcdMembers, hasEtcd } from '../../sandbox/machines/etcd-members.js'
import { machinesOf } from '../../sandbox/machines/machines.js'

const PROGRAM = fileURLToPath(import.meta.resolve('#programs/machine'))

/** What a machine is sent: which one it is. It answers an empty message when it is ready. */
export type MachineStart = { readonly flags: SandboxFlags; readonly machine: MachineOfSandbox }

/** The machines of a sandbox beside the first one, and the etcd of all. */
export type OtherMachines = {
  readonly first: MachineOfSandbox
  /** Starts them; resolves when each can answer from an indexed slot. */
  start(): Promise<void>
  /** Drains them; etcd goes on. */
  drain(): Promise<void>
  stopEtcd(): Promise<void>
}

class Machine {
  private readonly start: MachineStart
  private process: ChildProcess | undefined

  constructor(start: MachineStart) {
    this.start = start
  }

  async run(): Promise<void> {
    // Ctrl-C in a terminal is for the sandbox, which drains all of them.
    const child = fork(PROGRAM, { detached: true })
    this.process = child
    child.send(this.start)
    const exit = new AbortController()
    const ended = once(child, 'exit', exit).then(() => {
      throw new Error('a machine of the sandbox ended')
    })
    try {
      await Promise.race([once(child, 'message', exit), ended])
    } finally {
      exit.abort()
      ended.catch(() => {})
    }
  }

  async drain(): Promise<void> {
    const child = this.process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
}

/** Starts etcd, makes the cluster, and prepares the machines beside the first one. */
export const openMachines = async (flags: SandboxFlags): Promise<OtherMachines> => {
  if (!hasEtcd())
    throw new Error('etcd is not installed: apt-get install etcd-server, or see https://etcd.io')
  const { dir, memberCount, memberPort, machines } = machinesOf(flags)
  ensureCertificates(dir, ['root', 'etcd', ...machines.map(({ id }) => id)])
  const etcd = new EtcdMembers({ dir, count: memberCount, firstPort: memberPort, isWatched: true })
  etcd.startAll()
  const { endpoints } = etcd
  try {
    await ensureCluster(dir, endpoints, machines)
  } catch (error) {
    await etcd.killAll()
    throw error
  }
  const others = machines
    .slice(1)
    .map((_, index) => new Machine({ flags, machine: { index: index + 1, endpoints } }))
  return {
    first: { index: 0, endpoints },
    start: async () => void (await Promise.all(others.map(machine => machine.run()))),
    drain: async () => void (await Promise.all(others.map(machine => machine.drain()))),
    stopEtcd: () => etcd.killAll(),
  }
}
