import * as v from 'valibot'

/**
 * Options that a table used to have: each with the one in the same table that replaces it, or why
 * it was removed.
 */
export type RenamedOptions = Readonly<
  Record<string, { readonly to: string } | { readonly removed: string }>
>

/**
 * A table with its former options. A configuration that has one of them is refused with the name
 * that replaces it. `to` may be dotted, for an option that moved into a table below.
 */
export const withRenamed = <S extends v.GenericSchema>(schema: S, renamed: RenamedOptions) =>
  v.pipe(schema, v.metadata({ renamed }))

/** What replaces an option that `schema` no longer has: the end of a sentence about that option. */
export const explainRenamed = (
  schema: v.GenericSchema,
  tablePath: string,
  option: string,
): string | undefined => {
  const { renamed } = v.getMetadata(schema) as { readonly renamed?: RenamedOptions }
  const entry =
    renamed !== undefined && Object.hasOwn(renamed, option) ? renamed[option] : undefined
  if (entry === undefined) return undefined
  if ('removed' in entry) return `was removed: ${entry.removed}`
  return `is now ${tablePath === '' ? '' : `${tablePath}.`}${entry.to}`
}
