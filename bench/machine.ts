import { execFileSync } from 'node:child_process'
import { cpus, loadavg, totalmem } from 'node:os'

/** Where and of what a run's numbers are. */
export type Machine = {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly node: string
  readonly commit: string
  /** Other work on the machine as the run began: runnable processes, averaged over a minute. */
  readonly load: number
}

const commitOf = (): string => {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '+')
  } catch {
    // An unpacked release has no repository.
    return 'unknown'
  }
}

export const describeMachine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 1024 ** 3),
  node: process.version,
  commit: commitOf(),
  load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
})
