import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.js'
import type { BootstrapPlan } from '../ingest/bootstrap/bootstrap.js'
import { countSnapshot } from '../ingest/bootstrap/load-snapshot.js'
import {
  openLoader,
  toSnapshotOptions,
  type BootstrapSettings,
} from '../ingest/bootstrap/network-bootstraps.js'
import { isUrl, resolveSnapshot } from '../ingest/bootstrap/snapshot-location.js'
import { toBootstrapSettings } from '../config/bootstrap-settings.js'
import { printableLocation } from '../shared/indexer-status.js'
import { freeBytes } from '../storage/disk-space.js'
import { dryRunName, storesPath } from '../storage/generations.js'
import { removeOnExit } from '../storage/remove-on-exit.js'
import { createProgress } from './progress.js'
import { runPlan } from './run-bootstrap.js'

const count = (number: number): string => number.toLocaleString('en')

/** Prints what a store made from the snapshots would contain. */
const dryRun = async (settings: BootstrapSettings, locations: readonly string[]): Promise<void> => {
  const { dataDir, network } = settings
  const workDir = join(storesPath(dataDir, network.id), dryRunName(process.pid))
  removeOnExit(workDir)
  mkdirSync(workDir, { recursive: true })
  const progress = createProgress('bytes')
  const { accounts, archive, bytes, runBytes } = await countSnapshot(
    {
      locations,
      openLoader: () => openLoader(settings, workDir),
      options: toSnapshotOptions(settings),
    },
    ({ detail, done, total }) => progress.show(done, total, `${network.id}, ${detail}`),
  ).finally(progress.end)
  process.stdout.write(
    `network ${network.id}, ${locations.map(printableLocation).join(' and ')}: ` +
      `slot ${archive.slot}, ${count(accounts)} accounts in scope, a store of about ` +
      `${count(bytes)} bytes, and ${count(runBytes)} more while it is loaded; ` +
      `${count(freeBytes(workDir))} are free; nothing was written\n`,
  )
}

/** A single incremental snapshot updates the existing store. */
const toPlan = async (
  settings: BootstrapSettings,
  locations: readonly string[],
): Promise<BootstrapPlan> => {
  const [location = '', ...more] = locations
  const { base } = await resolveSnapshot(location, toSnapshotOptions(settings))
  return base === undefined || more.length > 0
    ? { kind: 'snapshot', locations }
    : { kind: 'incremental', location }
}

/** Absolute paths, because the service has another working directory. */
const toLocations = (given: readonly string[]): readonly string[] => {
  if (given.length > 2)
    throw new Error(
      'name one full snapshot, and at most one incremental snapshot that builds on it',
    )
  const locations = given.map(location => (isUrl(location) ? location : resolve(location)))
  const missing = locations.find(location => !isUrl(location) && !existsSync(location))
  if (missing !== undefined) throw new Error(`${missing} does not exist`)
  return locations
}

/**
 * `slotline snapshot load`: makes a new store of a network from a full snapshot, optionally with an
 * incremental one; an incremental one alone updates the existing store.
 */
export const loadSnapshots = async (
  config: Config,
  options: {
    readonly network: string
    readonly locations: readonly string[]
    readonly dryRun?: boolean
  },
): Promise<void> => {
  process.title = 'slotline snapshot'
  const settings = toBootstrapSettings(config, options.network)
  const locations = toLocations(options.locations)
  if (options.dryRun) return dryRun(settings, locations)
  return runPlan(config, options.network, await toPlan(settings, locations))
}
