import * as v from 'valibot'

/** An option of a schema with its marks; an element of a list of tables has the key `[]`. */
export type FoundOption = {
  readonly keys: readonly string[]
  /** Where the options of a table are. */
  readonly within: readonly string[]
  readonly marks: Readonly<Record<string, unknown>>
}

/** Whether a key of a path is the position in a list. */
export const isIndex = (key: string): boolean => /^\d+$/.test(key)

type Unwrapped = {
  readonly inner: v.GenericSchema
  readonly isList: boolean
  readonly marks: Readonly<Record<string, unknown>>
}

/** The schema inside `optional` and lists, and what they are marked with. */
export const unwrap = (schema: v.GenericSchema): Unwrapped => {
  let inner = schema
  let isList = false
  const marks: Record<string, unknown> = {}
  for (;;) {
    Object.assign(marks, v.getMetadata(inner))
    if ('wrapped' in inner) inner = inner.wrapped as v.GenericSchema
    else if ('item' in inner) [inner, isList] = [inner.item as v.GenericSchema, true]
    else return { inner, isList, marks }
  }
}

/** Every table and option of a schema. */
export function* walkOptions(
  schema: v.GenericSchema,
  keys: readonly string[] = [],
): Generator<FoundOption> {
  const { inner, isList, marks } = unwrap(schema)
  const within = isList ? [...keys, '[]'] : keys
  yield { keys, within, marks }
  if (!('entries' in inner)) return
  for (const [name, entry] of Object.entries(inner.entries as Record<string, v.GenericSchema>))
    yield* walkOptions(entry, [...within, name])
}

/** The schema of the option or table at a path, in which elements of lists have their indexes. */
export const schemaAt = (
  schema: v.GenericSchema,
  keys: readonly string[],
): v.GenericSchema | undefined => {
  let at: v.GenericSchema | undefined = schema
  for (const key of keys) {
    if (at === undefined) return undefined
    const { inner, isList } = unwrap(at)
    if (isList && isIndex(key)) at = inner
    else at = 'entries' in inner ? ((inner.entries as Table)[key] as v.GenericSchema) : undefined
  }
  return at
}

/** A table of a configuration, which may be one that is not checked yet. */
export type Table = Record<string, unknown>

export const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null

/** The tables that have the option at `keys`, each with the path of that option. */
export function* tablesWith(
  root: unknown,
  keys: readonly string[],
  path: readonly string[] = [],
): Generator<{ readonly table: Table; readonly path: readonly string[] }> {
  const [key, ...more] = keys
  if (key === undefined || !isTable(root)) return
  if (key === '[]') {
    if (!Array.isArray(root)) return
    for (const [index, element] of root.entries())
      yield* tablesWith(element, more, [...path, String(index)])
  } else if (more.length === 0) yield { table: root, path: [...path, key] }
  else yield* tablesWith(root[key], more, [...path, key])
}

/** Changes every text of the option at `keys`, which is a text or a list of texts. */
export const mapTexts = (
  root: unknown,
  keys: readonly string[],
  change: (text: string, path: readonly string[]) => string,
): void => {
  for (const { table, path } of tablesWith(root, keys)) {
    const name = path.at(-1) ?? ''
    const value = table[name]
    if (typeof value === 'string') table[name] = change(value, path)
    else if (Array.isArray(value))
      table[name] = value.map((text: unknown, index) =>
        typeof text === 'string' ? change(text, [...path, String(index)]) : text,
      )
  }
}

/** An option's path as errors show it. */
export const formatPath = (keys: readonly string[]): string =>
  keys
    .map(key => (isIndex(key) ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '')
