import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** Where the system has its control groups: of version 2, or those of memory of version 1. */
const ROOTS = [
  { root: '/sys/fs/cgroup', marker: 'cgroup.controllers', limit: 'memory.max', own: /^0::(.*)$/m },
  {
    root: '/sys/fs/cgroup/memory',
    marker: 'cgroup.procs',
    limit: 'memory.limit_in_bytes',
    own: /^\d+:memory:(.*)$/m,
  },
] as const

/** Processes that have so much memory together, files in it included. */
export type MemoryGroup = {
  /** Moves a process into it: what it touches from now on counts. */
  add(pid: number): void
  /**
   * Runs `start` in it, and returns this process to its own group: what it starts has the bound
   * from its beginning, as from a service manager.
   */
  around<T>(start: () => Promise<T>): Promise<T>
  /** Its processes must have ended. */
  remove(): void
}

/** Makes a control group. Needs the right to do so. */
export const createMemoryGroup = (name: string, bytes: number): MemoryGroup => {
  const found = ROOTS.find(({ root, marker }) => existsSync(join(root, marker)))
  if (found === undefined) throw new Error('this system has no control groups')
  const dir = join(found.root, name)
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, found.limit), String(bytes))
  const add = (pid: number, group = dir): void =>
    writeFileSync(join(group, 'cgroup.procs'), String(pid))
  const [, own = '/'] = found.own.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? []
  return {
    add,
    around: async start => {
      add(process.pid)
      try {
        return await start()
      } finally {
        add(process.pid, join(found.root, own))
      }
    },
    remove: () => rmdirSync(dir),
  }
}
