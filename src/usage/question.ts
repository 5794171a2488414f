import * as v from 'valibot'
import type { Rule } from './add-rows.js'
import { columnOf } from './schema.js'

/** What is in the store, and what edges have counted since, each by its own indexes. */
export const both = (arm: (schema: 'main' | 'temp') => string): string =>
  `(SELECT * FROM (${arm('main')}) UNION ALL SELECT * FROM (${arm('temp')}))`

export const from = (table: string, where: string, columns = '*') =>
  both(schema => `SELECT ${columns} FROM ${schema}.${table} WHERE ${where}`)

export const list = (names: readonly string[]): string => names.join(', ')

export const sums = (figures: readonly string[]): string =>
  figures.map(figure => `sum(${columnOf(figure)}) AS ${figure}`).join(', ')

export const count = v.pipe(v.number(), v.minValue(0))
export const text = v.string()
export const counts = v.pipe(v.string(), v.regex(/^\{["\d:,-]*\}$/))
export const figures = <const N extends string>(names: readonly N[]): Record<N, typeof count> =>
  Object.fromEntries(names.map(name => [name, count])) as Record<N, typeof count>

/** Rows of accesses, whose ids are a list in JSON. */
export const OF_IDS = 'access IN (SELECT value FROM json_each(?1))'

export type Parameter = string | number

export type Question<S extends v.GenericSchema> = {
  /** Over `main`, the store, and `temp`, what it lacks; absent if a row is not in it. */
  readonly sql?: string
  readonly row: S
  /** How the rows of machines are added up. */
  readonly add: Rule
  /** The accesses that it is about, by its parameters; none: all. */
  readonly accesses?: (parameters: readonly Parameter[]) => readonly string[]
}

export const question = <S extends v.GenericSchema>(asked: Question<S>): Question<S> => asked

/** Of no access alone. */
export const all = (): readonly string[] => []
