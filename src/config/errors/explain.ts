import type * as v from 'valibot'
import { closestWord } from './closest-word.js'
import { toPrintable } from '../printable.js'
import { formatPath } from '../options.js'
import { configSchema } from '../schema.js'

/** A failed check of the schema. */
export type Issue = v.BaseIssue<unknown>
type TableSchema = v.GenericSchema & { readonly entries: Readonly<Record<string, unknown>> }

const isIndex = (key: string): boolean => /^\d+$/.test(key)

/** Path of an issue's value. */
export const keysOf = (issue: Issue): string[] => issue.path?.map(({ key }) => String(key)) ?? []

/** Schema of the table at this path, or undefined. */
const tableAt = (keys: readonly string[]): TableSchema | undefined => {
  let at: unknown = configSchema
  for (const key of [...keys, '']) {
    while (typeof at === 'object' && at !== null && !('entries' in at))
      at = 'wrapped' in at ? at.wrapped : 'item' in at ? at.item : undefined
    if (typeof at !== 'object' || at === null) return undefined
    if (key === '') return at as TableSchema
    if (!isIndex(key)) at = (at as TableSchema).entries[key]
  }
  return undefined
}

const formatGiven = (given: unknown, key: string): string => {
  const value = toPrintable(key, given)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a table'
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value)
}

/** Explains an unknown option by the most similar known option. */
const explainUnknown = (keys: readonly string[]): string => {
  const path = formatPath(keys)
  const option = keys.at(-1) ?? ''
  const table = tableAt(keys.slice(0, -1))
  if (table === undefined) return `${path} is unknown`
  const closest = closestWord(option, Object.keys(table.entries))
  return `${path} is unknown${closest === undefined ? '' : `; did you mean ${closest}?`}`
}

/** One line: the wrong option and its valid values. */
export const explain = (issue: Issue): string => {
  const keys = keysOf(issue)
  const path = formatPath(keys) || 'the file'
  // An element of a list is printed like its option.
  const given = formatGiven(issue.input, keys.findLast(key => !isIndex(key)) ?? '')
  if (issue.type !== 'strict_object')
    return `${path} must be ${issue.type === 'array' ? 'a list' : issue.message}, but is ${given}`
  if (issue.expected === 'Object') return `${path} must be a table, but is ${given}`
  return issue.expected === 'never' ? explainUnknown(keys) : `${path} is missing`
}

const isUnknown = ({ expected }: Issue): boolean => expected === 'never'
const isMissing = ({ expected, input, type }: Issue): boolean =>
  type === 'strict_object' && expected !== 'never' && expected !== 'Object' && input === undefined

/**
 * Unknown options first. Without an option that is missing only because its name is misspelled.
 */
export const withoutConsequences = (issues: readonly Issue[]): Issue[] => {
  const unknown = issues.filter(isUnknown)
  const replaced = new Set(
    unknown.map(issue => {
      const keys = keysOf(issue)
      const known = Object.keys(tableAt(keys.slice(0, -1))?.entries ?? {})
      return formatPath([...keys.slice(0, -1), closestWord(keys.at(-1) ?? '', known) ?? ''])
    }),
  )
  const others = issues.filter(
    issue => !isUnknown(issue) && !(isMissing(issue) && replaced.has(formatPath(keysOf(issue)))),
  )
  return [...unknown, ...others]
}
