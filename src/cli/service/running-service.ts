import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readServiceFile } from '../../config/service-file.js'
import { LOCK_NAME } from '../../supervision/data-dir.js'

/** Title of the process that has the lock of a data directory. */
const SUPERVISOR = 'slotline supervisor'
/** Descriptors of one process that are read: the lock is among its first. */
const DESCRIPTORS_MAX = 4_096

/** What a function answers, or nothing if the process has ended or is another user's. */
const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const isSupervisor = (pid: string): boolean =>
  attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.startsWith(SUPERVISOR) === true

/** The data directory that a supervisor has locked. */
const lockedBy = (pid: string): string | undefined => {
  const folder = `/proc/${pid}/fd`
  const descriptors = attempt(() => readdirSync(folder)) ?? []
  const paths = descriptors
    .slice(0, DESCRIPTORS_MAX)
    .map(name => attempt(() => readlinkSync(join(folder, name))) ?? '')
  const lock = paths.find(path => basename(path) === LOCK_NAME)
  return lock === undefined ? undefined : dirname(lock)
}

const runsWith = (dataDir: string, configFile: string): boolean => {
  const service = attempt(() => readServiceFile(dataDir))
  return service !== undefined && 'configFile' in service && service.configFile === configFile
}

/**
 * The data directory of the service of this machine that was started with this file, whatever is in
 * the file now; undefined if none runs, or if its processes are hidden from this user.
 */
export const findRunningService = (configFile: string): string | undefined =>
  (attempt(() => readdirSync('/proc')) ?? [])
    .filter(name => /^\d+$/.test(name) && isSupervisor(name))
    .map(lockedBy)
    .find(dataDir => dataDir !== undefined && runsWith(dataDir, resolve(configFile)))
