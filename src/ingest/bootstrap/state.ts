import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { BootstrapPlan, LoadedBase } from './bootstrap.js'
import type { BootstrapStatus } from '../../shared/indexer-status.js'
import { replaceFile, replaceFileDurably } from '../../shared/files/atomic-file.js'

/**
 * A request for a bootstrap. Locations may contain secrets, so only the owner can read the files.
 */
export type BootstrapRequest = {
  readonly id: string
  readonly plan: BootstrapPlan
}

/** A bootstrap on disk: enough for another process to resume it. */
export type BootstrapState = {
  readonly request: BootstrapRequest
  /** Folder of the new store. */
  readonly generation: string
  /** Once the store is loaded. */
  readonly loaded?: LoadedBase
  readonly status: BootstrapStatus
  /** Where it was cancelled: the tip of the live store at that moment, null if it had none. */
  readonly cancelledAtSlot?: number | null
}

/** A request to cancel a bootstrap. */
export type BootstrapCancel = {
  /** Of the request for the bootstrap: a later bootstrap is not cancelled. */
  readonly id: string
  readonly reason: string
}

const CANCEL = 'bootstrap.cancel.json'
const REQUEST = 'bootstrap.request.json'
const STATE = 'bootstrap.json'
/** Folder of the spool and of sorted rows. Never the name of a generation. */
export const BOOTSTRAP_DIR = 'bootstrap'

const readJson = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(text => typeof text === 'string')

const isPlan = (value: unknown): value is BootstrapPlan => {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  if (value.kind === 'snapshot') return 'locations' in value && isTexts(value.locations)
  if (value.kind === 'incremental') return 'location' in value && typeof value.location === 'string'
  if (value.kind === 'peer')
    return 'machine' in value && 'url' in value && isTexts([value.machine, value.url])
  return value.kind === 'rpc'
}

const isRequest = (value: unknown): value is BootstrapRequest =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'plan' in value &&
  isPlan(value.plan)

const isState = (value: unknown): value is BootstrapState =>
  typeof value === 'object' &&
  value !== null &&
  'request' in value &&
  isRequest(value.request) &&
  'generation' in value &&
  typeof value.generation === 'string' &&
  'status' in value &&
  typeof value.status === 'object'

/** Requests a bootstrap from the indexer of these stores; answers the id of the request. */
export const requestBootstrap = (stores: string, plan: BootstrapPlan): string => {
  const request: BootstrapRequest = { id: randomUUID(), plan }
  replaceFile(join(stores, REQUEST), `${JSON.stringify(request)}\n`)
  return request.id
}

/** The pending request; undefined if there is none. */
export const readRequest = (stores: string): BootstrapRequest | undefined => {
  const value = readJson(join(stores, REQUEST))
  return isRequest(value) ? value : undefined
}

/** Removes the pending request. */
export const forgetRequest = (stores: string): void =>
  rmSync(join(stores, REQUEST), { force: true })

const isCancel = (value: unknown): value is BootstrapCancel =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'reason' in value &&
  typeof value.reason === 'string'

/** Requests the end of a bootstrap. The file stays until a process has ended it. */
export const requestCancel = (stores: string, cancel: BootstrapCancel): void => {
  replaceFileDurably(join(stores, CANCEL), `${JSON.stringify(cancel)}\n`)
}

/** The requested cancellation, if there is one. */
export const readCancel = (stores: string): BootstrapCancel | undefined => {
  const value = readJson(join(stores, CANCEL))
  return isCancel(value) ? value : undefined
}

/** Removes the cancellation of this request, and keeps one of another request. */
export const forgetCancel = (stores: string, id: string): void => {
  if (readCancel(stores)?.id === id) rmSync(join(stores, CANCEL), { force: true })
}

/** Removes the state of a bootstrap and every request for one, so that no process continues it. */
export const forgetBootstrap = (stores: string): void => {
  rmSync(join(stores, CANCEL), { force: true })
  forgetRequest(stores)
  rmSync(join(stores, STATE), { force: true })
}

/** The last bootstrap of these stores, or undefined before the first. */
export const readState = (stores: string): BootstrapState | undefined => {
  const value = readJson(join(stores, STATE))
  return isState(value) ? value : undefined
}

/** Keeps a state: it is on the disk when this returns. */
export const writeState = (stores: string, state: BootstrapState): void => {
  replaceFileDurably(join(stores, STATE), `${JSON.stringify(state)}\n`)
}
