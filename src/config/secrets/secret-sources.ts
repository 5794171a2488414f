import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { explainError } from '../../shared/files/system-error.js'
import type { Fault } from '../checks.js'
import { formatPath, mapTexts, tablesWith } from '../options.js'
import { SECRETS, type FoundSecret } from './secrets.js'

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

/** What an option with a secret can be in place of it: the name of a variable. */
const VARIABLE = /^\$([A-Za-z_][A-Za-z0-9_]*)$/

/** True for `$NAME`, which is no secret itself. */
export const isVariable = (text: string): boolean => VARIABLE.test(text)

/** Longest file with one secret. */
const SECRET_BYTES_MAX = 64 * 1024

/** Accepted by the schema if a secret is not needed and is missing. */
const PLACEHOLDERS = { all: 'unknown', url: 'http://unknown.invalid', query: '/unknown' } as const

const readSecret = (file: string): string => {
  const { size } = statSync(file)
  if (size > SECRET_BYTES_MAX) throw new Error(`it has more than ${SECRET_BYTES_MAX} bytes`)
  const text = readFileSync(file, 'utf8').trimEnd()
  if (text === '') throw new Error('it is empty')
  return text
}

/** Where the secrets of a configuration come from. */
export type SecretSources = {
  readonly environment: Environment
  /** Folder that paths are relative to. */
  readonly folder: string
  /** False if a command works without them: then a missing one is no fault. */
  readonly areNeeded: boolean
}

/** What was found in place of secrets. */
export type FoundSources = {
  readonly faults: readonly Fault[]
  readonly variables: readonly string[]
  readonly files: readonly string[]
}

/**
 * Puts secrets in the place of `$NAME` and of `<option>File`, in a parsed configuration that is not
 * checked yet.
 */
export const fetchSecrets = (
  given: unknown,
  { environment, folder, areNeeded }: SecretSources,
): FoundSources => {
  const faults: Fault[] = []
  const variables: string[] = []
  const files: string[] = []

  const missing = (keys: readonly string[], why: string, { part }: FoundSecret): string => {
    if (areNeeded) faults.push({ keys, message: `${formatPath(keys)} ${why}` })
    return PLACEHOLDERS[part]
  }
  const fromVariables = (secret: FoundSecret): void =>
    mapTexts(given, secret.keys, (text, path) => {
      const [, name] = VARIABLE.exec(text) ?? []
      if (name === undefined) return text
      const value = environment[name]
      if (value === undefined || value === '')
        return missing(path, `is $${name}, which the environment does not have`, secret)
      variables.push(name)
      return value
    })
  const fromFiles = (secret: FoundSecret): void => {
    const name = secret.keys.at(-1) ?? ''
    for (const { table, path } of tablesWith(given, [...secret.keys.slice(0, -1), `${name}File`])) {
      const given = table[`${name}File`]
      if (typeof given !== 'string') continue
      const file = resolve(folder, given)
      if (table[name] !== undefined)
        faults.push({ keys: path, message: `${formatPath(path)} and ${name} are both given` })
      else
        try {
          table[name] = readSecret(file)
          files.push(file)
        } catch (error) {
          const why = explainError(error)
          table[name] = missing(path, `cannot be read: ${why}`, secret)
        }
    }
  }

  for (const secret of SECRETS) {
    fromVariables(secret)
    if (secret.part === 'all') fromFiles(secret)
  }
  return { faults, variables, files }
}
