import * as v from 'valibot'

/**
 * Former options of a table: each with its replacement in the same table, or the reason for its
 * removal.
 */
export type RenamedOptions = Readonly<
  Record<string, { readonly to: string } | { readonly removed: string }>
>

/**
 * A table with its former options. A configuration with a former option is refused, and the error
 * names the replacement. `to` may be dotted, for an option that moved into a nested table.
 */
export const withRenamed = <S extends v.GenericSchema>(schema: S, renamed: RenamedOptions) =>
  v.pipe(schema, v.metadata({ renamed }))

/** Explains what replaces a former option of `schema`: the end of a sentence about that option. */
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
