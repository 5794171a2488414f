import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the system has its control groups: of version 2, or those of memory of version 1. */
const ROOTS = [
  { root: '/sys/fs/cgroup', marker: 'cgroup.controllers', limit: 'memory.max' },
  { root: '/sys/fs/cgroup/memory', marker: 'cgroup.procs', limit: 'memory.limit_in_bytes' },
] as const

/** Processes that have so much memory together, files in it included. */
export type MemoryGroup = {
  /** Moves a process into it: what it touches from now on counts. */
  add(pid: number): void
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
  return {
    add: pid => writeFileSync(join(dir, 'cgroup.procs'), String(pid)),
    remove: () => rmdirSync(dir),
  }
}
