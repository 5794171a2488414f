import type * as v from 'valibot'
import { closestWord } from './closest-word.js'
import { toPrintable } from '../printable.js'
import { formatPath, isIndex, schemaAt, unwrap } from '../options.js'
import { configSchema } from '../schema.js'

/** A failed check of the schema. */
export type Issue = v.BaseIssue<unknown>

/** Path of an issue's value. */
export const keysOf = (issue: Issue): string[] => issue.path?.map(({ key }) => String(key)) ?? []

/** Names of the options beside the one at this path. */
const namesBeside = (keys: readonly string[]): string[] => {
  const table = schemaAt(configSchema, keys.slice(0, -1))
  const inner = table && unwrap(table).inner
  return inner !== undefined && 'entries' in inner ? Object.keys(Object(inner.entries)) : []
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
  const closest = closestWord(keys.at(-1) ?? '', namesBeside(keys))
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
      return formatPath([
        ...keys.slice(0, -1),
        closestWord(keys.at(-1) ?? '', namesBeside(keys)) ?? '',
      ])
    }),
  )
  const others = issues.filter(
    issue => !isUnknown(issue) && !(isMissing(issue) && replaced.has(formatPath(keysOf(issue)))),
  )
  return [...unknown, ...others]
}
