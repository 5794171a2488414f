import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../shared/files/atomic-file.js'

/** A change that a command requests of the running service. */
export type ChangeRequest = {
  readonly id: string
  readonly kind: 'reload' | 'upgrade'
  /** Who ran the command. */
  readonly from: string
}

/** What became of a request; `pid` is the supervisor. */
export type ChangeState = {
  readonly id: string
  readonly pid: number
  readonly state: 'running' | 'done' | 'failed'
  /** What was replaced, or why nothing is changed. */
  readonly message: string
}

const REQUEST = 'change.request.json'
const STATES = 'changes.json'
/** Commands that wait at the same time: one that is refused must not hide another's outcome. */
const STATES_MAX = 16

const readJson = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

const hasTexts = <const K extends string>(
  value: unknown,
  keys: readonly K[],
): value is Record<K, string> =>
  typeof value === 'object' &&
  value !== null &&
  keys.every(key => key in value && typeof (value as Record<string, unknown>)[key] === 'string')

const isRequest = (value: unknown): value is ChangeRequest =>
  hasTexts(value, ['id', 'kind', 'from']) && ['reload', 'upgrade'].includes(value.kind)

const isState = (value: unknown): value is ChangeState =>
  hasTexts(value, ['id', 'state', 'message']) && 'pid' in value && typeof value.pid === 'number'

/** Requests a change; answers the id of the request. */
export const requestChange = (dataDir: string, request: Omit<ChangeRequest, 'id'>): string => {
  const id = randomUUID()
  replaceFile(join(dataDir, REQUEST), `${JSON.stringify({ id, ...request })}\n`)
  return id
}

/** The pending request, which is removed. */
export const takeChangeRequest = (dataDir: string): ChangeRequest | undefined => {
  const value = readJson(join(dataDir, REQUEST))
  if (value === undefined) return undefined
  rmSync(join(dataDir, REQUEST), { force: true })
  return isRequest(value) ? value : undefined
}

/** The outcomes of the last requests, oldest first. */
const readStates = (dataDir: string): readonly ChangeState[] => {
  const value = readJson(join(dataDir, STATES))
  return Array.isArray(value) ? value.filter(isState) : []
}

/** Writes what became of a request. */
export const writeChangeState = (dataDir: string, state: ChangeState): void => {
  const others = readStates(dataDir).filter(({ id }) => id !== state.id)
  const kept = [...others, state].slice(-STATES_MAX)
  replaceFile(join(dataDir, STATES), `${JSON.stringify(kept)}\n`)
}

/** What became of a request; undefined before the supervisor has taken it. */
export const readChangeState = (dataDir: string, id: string): ChangeState | undefined =>
  readStates(dataDir).find(state => state.id === id)
