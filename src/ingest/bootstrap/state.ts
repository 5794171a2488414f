import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { BootstrapPlan, LoadedBase } from './bootstrap.js'
import type { BootstrapStatus } from '../../shared/indexer-status.js'
import { syncPath } from '../../storage/generations.js'
import { replaceFile } from '../../storage/status-file.js'

/** What somebody asked for. Places may hold secrets, so the files are their owner's alone. */
export type BootstrapRequest = {
  readonly id: string
  readonly plan: BootstrapPlan
}

/** A bootstrap as it lies on the disk: enough for another process to go on with it. */
export type BootstrapState = {
  readonly request: BootstrapRequest
  /** Folder of the store that is made. */
  readonly generation: string
  /** Where the store is whole. */
  readonly loaded?: LoadedBase
  readonly status: BootstrapStatus
  /** Where it was cancelled: the tip of the live store at that moment, null where it had none. */
  readonly cancelledAtSlot?: number | null
}

/** Somebody wants a bootstrap to end. */
export type BootstrapCancel = {
  /** Of the request: what comes after it is not meant. */
  readonly id: string
  readonly reason: string
}

const CANCEL = 'bootstrap.cancel.json'
const REQUEST = 'bootstrap.request.json'
const STATE = 'bootstrap.json'
/** Folder of the spool and of what is sorted. No generation is called so. */
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
  if (value.kind === 'snapshot') return 'places' in value && isTexts(value.places)
  if (value.kind === 'incremental') return 'place' in value && typeof value.place === 'string'
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

/** Asks the indexer of these stores for a bootstrap; answers the request's name. */
export const requestBootstrap = (stores: string, plan: BootstrapPlan): string => {
  const request: BootstrapRequest = { id: randomUUID(), plan }
  replaceFile(join(stores, REQUEST), `${JSON.stringify(request)}\n`)
  return request.id
}

/** The request that lies there; undefined where there is none, or none of ours. */
export const readRequest = (stores: string): BootstrapRequest | undefined => {
  const value = readJson(join(stores, REQUEST))
  return isRequest(value) ? value : undefined
}

/** Removes the request that lies there. */
export const forgetRequest = (stores: string): void =>
  rmSync(join(stores, REQUEST), { force: true })

const isCancel = (value: unknown): value is BootstrapCancel =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'reason' in value &&
  typeof value.reason === 'string'

/**
 * Asks whoever carries out a bootstrap to end it. It lies there until that is done, whatever
 * process does it.
 */
export const requestCancel = (stores: string, cancel: BootstrapCancel): void => {
  const path = join(stores, CANCEL)
  replaceFile(path, `${JSON.stringify(cancel)}\n`)
  syncPath(path)
  syncPath(stores)
}

/** What somebody wants to end; undefined where nobody does. */
export const readCancel = (stores: string): BootstrapCancel | undefined => {
  const value = readJson(join(stores, CANCEL))
  return isCancel(value) ? value : undefined
}

/**
 * Removes what `requestCancel` left of this request, and of no other one: that nobody has heard
 * yet.
 */
export const forgetCancel = (stores: string, id: string): void => {
  if (readCancel(stores)?.id === id) rmSync(join(stores, CANCEL), { force: true })
}

/** Removes what is known of a bootstrap and of a request for one: nobody goes on with it. */
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
  const path = join(stores, STATE)
  replaceFile(path, `${JSON.stringify(state)}\n`)
  syncPath(path)
  syncPath(stores)
}
