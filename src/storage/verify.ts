import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.js'
import { openCaretaker } from '../native/inspector.js'
import { currentGeneration, storesPath } from './generations.js'
import { toStoreOptions } from './native-options.js'
import { createProgress } from './progress.js'

/** What a verification of one store found. */
export type Verification = {
  readonly network: string
  readonly generation: string
  /** Newest slot at the beginning; null in an empty store. */
  readonly slot: number | null
  readonly isSound: boolean
  readonly rows: number
  readonly seconds: number
  /** Programs with too many accounts to be counted one by one. */
  readonly uncountedPrograms: number
  readonly differences: readonly string[]
}

/** Whatever else runs on the machine comes first. */
const NICENESS = 10

/** The live store of a network, for commands beside the service. */
export const liveStore = (
  config: Config,
  network: string,
): { readonly generation: string; readonly dir: string } => {
  if (!config.networks.some(({ id }) => id === network)) throw new Error(`no network ${network}`)
  const stores = storesPath(config.dataDir, network)
  const generation = currentGeneration(stores)
  if (generation === undefined)
    throw new Error(`network ${network} has no store in ${config.dataDir} yet`)
  return { generation, dir: join(stores, generation) }
}

const verifyStore = async (config: Config, network: string): Promise<Verification> => {
  const { generation, dir } = liveStore(config, network)
  const caretaker = openCaretaker(dir, toStoreOptions(config, network))
  try {
    const slot = caretaker.tip()?.slot ?? null
    const { rowsPerSecondMax, ...bounds } = config.verify
    const total = caretaker.beginVerify(bounds)
    const begunMs = performance.now()
    const progress = createProgress(process.stderr, 'rows', () => performance.now())
    let rows = 0
    for (;;) {
      const slice = caretaker.verifySlice()
      rows += slice.rows
      if (slice.isLast) break
      progress.show(rows, total, `verify ${network}, ${slice.table}`)
      // A pause of no time still lets a signal in.
      const dueMs = begunMs + (rows * 1_000) / rowsPerSecondMax
      await sleep(Math.max(0, dueMs - performance.now()))
    }
    progress.end()
    const differences = caretaker.differences()
    return {
      network,
      generation,
      slot,
      isSound: differences.length === 0,
      rows,
      seconds: Math.round(performance.now() - begunMs) / 1_000,
      uncountedPrograms: caretaker.uncountedPrograms(),
      differences,
    }
  } finally {
    caretaker.close()
  }
}

const formatVerification = (found: Verification, differencesMax: number): string => {
  const { differences, generation, network, rows, seconds, uncountedPrograms } = found
  const where = `network ${network}, store ${generation}`
  const looked = `${rows.toLocaleString('en')} rows in ${seconds} s`
  const verdict = found.isSound
    ? `${where}: no differences (${looked})`
    : `${where}: ${differences.length} differences (${looked})`
  const more = differences.length >= differencesMax ? ['… and perhaps more: stopped here'] : []
  const left =
    uncountedPrograms === 0
      ? []
      : [`${uncountedPrograms} programs have over verify.programRowsMax accounts: only their sum`]
  return [verdict, ...differences.map(line => `  ${line}`), ...more, ...left, ''].join('\n')
}

/**
 * `slotline verify`: recomputes the indexes of the stores from their accounts, beside a running
 * service or without one. Answers the exit code: 0 without differences, 1 with some. Throws where
 * it cannot.
 */
export const verify = async (
  config: Config,
  options: { readonly network?: string; readonly rate?: number; readonly json?: boolean },
): Promise<0 | 1> => {
  process.title = 'slotline verify'
  setPriority(NICENESS)
  const { rate: rowsPerSecondMax = config.verify.rowsPerSecondMax } = options
  const bounded = { ...config, verify: { ...config.verify, rowsPerSecondMax } }
  const networks =
    options.network === undefined ? config.networks.map(n => n.id) : [options.network]
  const all: Verification[] = []
  for (const network of networks) {
    const found = await verifyStore(bounded, network)
    all.push(found)
    if (!options.json) process.stdout.write(formatVerification(found, config.verify.differencesMax))
  }
  const isSound = all.every(found => found.isSound)
  if (options.json) process.stdout.write(`${JSON.stringify({ isSound, networks: all })}\n`)
  return isSound ? 0 : 1
}
