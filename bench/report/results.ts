import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Machine } from './machine.js'
import type { Baseline, Figure } from './report.js'

/** A stored run. */
export type Run = {
  readonly machine: Machine
  readonly dataSet: string
  readonly figures: Baseline
}

// The sources' folder, seen from `dist/bench/bench/report/`: results and the baseline are no build
// products.
const home = fileURLToPath(new URL('../../../../bench/', import.meta.url))
const baselinePath = join(home, 'baseline.json')

/**
 * Where a run keeps what it builds. On the same disk as the sources: a commit must be as durable as
 * elsewhere.
 */
export const workDir = (): string => join(home, '.data')

/** A run, ready to be stored. */
export const toRun = (machine: Machine, dataSet: string, figures: readonly Figure[]): Run => ({
  machine,
  dataSet,
  figures: Object.fromEntries(figures.map(({ name, value }) => [name, value])),
})

const write = (path: string, run: Run): void =>
  writeFileSync(path, `${JSON.stringify(run, undefined, 2)}\n`)

/** Keeps a run under the time at which it ended; returns the file's path. */
export const saveRun = (run: Run, now: Date): string => {
  const dir = join(home, 'results')
  mkdirSync(dir, { recursive: true })
  const path = join(dir, `${now.toISOString().replace(/[:.]/g, '-')}.json`)
  write(path, run)
  return path
}

export const saveBaseline = (run: Run): void => write(baselinePath, run)

/**
 * The committed run to compare with, if it is of the same data set; a smaller set proves nothing
 * of a larger one.
 */
export const readBaseline = (dataSet: string): Run | undefined => {
  if (!existsSync(baselinePath)) return undefined
  const run = JSON.parse(readFileSync(baselinePath, 'utf8')) as Run
  return run.dataSet === dataSet ? run : undefined
}
