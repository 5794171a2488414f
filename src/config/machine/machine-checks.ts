import { accessSync, constants, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { CertificateError, certificatesOf, readCertificate } from '../../server/tls/certificate.js'
import type { Fault } from '../checks.js'
import { edgeCountOf, edgeSlotsOf } from '../edge-count.js'
import { formatPath, mapTexts } from '../options.js'
import { ownLocations } from '../own-locations.js'
import { isPath, PATHS } from '../paths.js'
import type { Config } from '../schema.js'

/** What is wrong with a valid configuration on this machine. */
export type MachineFaults = {
  /** The service does not start with these, or does not work. */
  readonly faults: readonly Fault[]
  /** It works, but not as configured. */
  readonly warnings: readonly Fault[]
}

/**
 * Reader slots for the indexer, of which 32 read pages before a commit, commands that read a live
 * store, a copy, of which 32 read pages too, and edges that restart.
 */
const OTHER_READERS = 96

/** Of the time to stop, what `processes.drainMs` keeps for the supervisor's own end. */
const STOP_MARGIN_MS = 500

const explainFile = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK)
    return statSync(path).isFile() ? undefined : 'is no file'
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return isMissing ? 'does not exist' : 'cannot be read'
  }
}

const checkFiles = (config: Config): MachineFaults => {
  const found = { fault: [] as Fault[], warning: [] as Fault[] }
  for (const { keys, whereMissing } of PATHS) {
    if (whereMissing === 'made') continue
    mapTexts(structuredClone(config), keys, (path, at) => {
      const why = isPath(path) ? explainFile(path) : undefined
      if (why !== undefined)
        found[whereMissing].push({ keys: at, message: `${formatPath(at)}: ${path} ${why}` })
      return path
    })
  }
  return { faults: found.fault, warnings: found.warning }
}

/** Before its end, a certificate is usually replaced: those of ACME 30 days before. */
const CERTIFICATE_DAYS_MIN = 14

const DAY_MS = 86_400_000

/** Checks the certificates of the listeners of this machine. */
const checkCertificates = (config: Config, nowMs: number): MachineFaults => {
  const found = { faults: [] as Fault[], warnings: [] as Fault[] }
  const own = ownLocations(config)
  for (const [index, location] of config.locations.entries())
    for (const [at, { tls }] of location.listeners.entries()) {
      if (tls === undefined || !own.includes(location)) continue
      const listener = ['locations', String(index), 'listeners', String(at), 'tls']
      for (const [order, files] of certificatesOf(tls).entries()) {
        const keys = order === 0 ? listener : [...listener, 'sni', String(order - 1)]
        try {
          const { endMs } = readCertificate(files, nowMs)
          const days = Math.floor((endMs - nowMs) / DAY_MS)
          if (days < CERTIFICATE_DAYS_MIN)
            found.warnings.push({
              keys,
              message: `${formatPath(keys)}: ${files.certFile} ends in ${days} days`,
            })
        } catch (error) {
          if (!(error instanceof CertificateError)) throw error
          found.faults.push({ keys, message: `${formatPath(keys)}: ${error.message}` })
        }
      }
    }
  return found
}

function* checkReaders(config: Config): Generator<Fault> {
  const edges = edgeCountOf(config)
  // An edge that is replaced runs beside its successor.
  const slots = edgeSlotsOf(config)
  const { scanThreads, streamThreads } = config.pools
  const needed = slots * (1 + scanThreads + streamThreads) + OTHER_READERS
  const given = config.store.readersMax
  if (given < needed)
    yield {
      keys: ['store', 'readersMax'],
      message: `store.readersMax is ${given}, but ${edges} edges and the other processes need ${needed}`,
    }
}

function* warnings(config: Config, cores: number): Generator<Fault> {
  const { processes, server } = config
  const { edgeCount, edgeRealtime, drainMs, drainNoticeMs } = processes
  if (edgeCount > cores)
    yield {
      keys: ['processes', 'edgeCount'],
      message: `processes.edgeCount is ${edgeCount}, but this machine has ${cores} cores`,
    }
  else if (edgeCount === cores && edgeRealtime)
    yield {
      keys: ['processes', 'edgeCount'],
      message: `processes.edgeCount is ${edgeCount}, as many as cores: edges are not realtime`,
    }
  const edgeMs = drainNoticeMs + server.drainMs
  if (edgeMs > drainMs - STOP_MARGIN_MS)
    yield {
      keys: ['processes', 'drainMs'],
      message: `processes.drainMs is ${drainMs}, but processes.drainNoticeMs and server.drainMs take up to ${edgeMs} and the end ${STOP_MARGIN_MS}: requests in flight may be terminated`,
    }
}

/** Checks a configuration against the files and the cores of this machine. */
export const checkMachine = (
  config: Config,
  cores: number = availableParallelism(),
): MachineFaults => {
  const files = checkFiles(config)
  const certificates = checkCertificates(config, Date.now())
  return {
    faults: [...files.faults, ...certificates.faults, ...checkReaders(config)],
    warnings: [...files.warnings, ...certificates.warnings, ...warnings(config, cores)],
  }
}
