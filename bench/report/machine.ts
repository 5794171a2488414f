import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'

/** Where and of what a run's numbers are. */
export type Machine = {
  readonly cpu: string
  /** Whether vector instructions of 512 bits are there, on which signature checks depend. */
  readonly hasAvx512: boolean
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

/** Whether the text of /proc/cpuinfo names the base of AVX-512 among the flags. */
export const listsAvx512 = (cpuInfo: string): boolean => /^flags\s*:.*\bavx512f\b/m.test(cpuInfo)

const detectAvx512 = (): boolean => {
  try {
    return listsAvx512(readFileSync('/proc/cpuinfo', 'utf8'))
  } catch {
    // Only Linux has this file.
    return false
  }
}

export const describeMachine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  hasAvx512: detectAvx512(),
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 1024 ** 3),
  node: process.version,
  commit: commitOf(),
  load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
})

/** One line of the report. */
export const formatMachine = (machine: Machine): string =>
  `${machine.cpu} ${machine.hasAvx512 ? 'with' : 'without'} AVX-512, ${machine.cores} cores, ` +
  `${machine.memoryGb} GB, load ${machine.load}; Node ${machine.node}; commit ${machine.commit}`

/** More than a processor keeps to itself, as a service's code and data are between two requests. */
const WALK_WORDS = 2 ** 24
const WALK_STEPS = 2_000_000

/**
 * Nanoseconds of one step of a walk through 64 MiB, each of which waits for memory. It
 * describes the memory in that second only: latencies differed by a third between equal values.
 */
export const measurePace = (): number => {
  // A linear congruential generator of full period: the walk visits every element.
  const next = Int32Array.from(
    { length: WALK_WORDS },
    (_, at) => (Math.imul(at, 1_664_525) + 1_013_904_223) & (WALK_WORDS - 1),
  )
  let at = 0
  const startMs = performance.now()
  for (let step = 0; step < WALK_STEPS; step++) at = next[at] ?? 0
  const elapsedMs = performance.now() - startMs
  // Read, so that the walk is not optimised away.
  return at < 0 ? NaN : (elapsedMs * 1e6) / WALK_STEPS
}
