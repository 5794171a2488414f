import * as v from 'valibot'
import {
  type Declaration,
  type Option,
  type OptionsOf,
  rangeOf,
} from '../../shared/options/declaration.js'

/**
 * A value with the words for its valid values: they complete "must be …" and appear in the
 * reference.
 */
export type Leaf<T> = v.CustomSchema<T, string>

/** A value that passes `check`; `expected` completes "must be …". */
export const leaf = <T>(check: (value: unknown) => boolean, expected: string): Leaf<T> =>
  v.custom<T, string>(check, expected)

/** What a value must be, where it is not valid. */
export const explainValue = <T>(schema: Leaf<T>, value: unknown): string | undefined =>
  v.is(schema, value) ? undefined : String(schema.message)

/** An integer within bounds, both included. */
export const integer = (min: number, max: number, unit: string): Leaf<number> =>
  leaf(
    value => typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max,
    `an integer from ${min} to ${max}${unit === '' ? '' : ` (${unit})`}`,
  )

/** A text, not empty. */
export const text = (expected = 'a text'): Leaf<string> =>
  leaf(value => typeof value === 'string' && value !== '', expected)

/** One of a few words. */
export const oneOf = <const W extends string>(words: readonly W[]): Leaf<W> =>
  leaf(value => words.some(word => word === value), `one of ${words.join(', ')}`)

export const port: Leaf<number> = integer(1, 65_535, 'TCP port')
/** A port beside the one of a listener. */
export const otherPort: Leaf<number> = integer(1, 65_535, 'port')

/** A schema with the reason for the reference. */
export const described = <S extends v.GenericSchema>(schema: S, reason: string) =>
  v.pipe(schema, v.description(reason))

/** A table that may be absent; its options then have their defaults. */
export const section = <S extends v.GenericSchema>(schema: S) => v.optional(schema, {})

const leafFor = (option: Option): Leaf<number | string | boolean> => {
  if ('words' in option) return oneOf(option.words)
  if ('unit' in option) {
    const { min, max } = rangeOf(option)
    return integer(min, max, option.unit)
  }
  return typeof option.default === 'boolean'
    ? leaf(given => typeof given === 'boolean', 'true or false')
    : text()
}

/** Schemas of texts of which more is demanded than that they are one. */
type Texts<D> = { readonly [K in keyof D]?: v.GenericSchema<string> }

type Entries<D extends Declaration> = {
  readonly [K in keyof D]: v.OptionalSchema<Leaf<OptionsOf<D>[K]>, OptionsOf<D>[K]>
}

/** Schemas of a part's options, to be spread into a table with other keys. */
export const optionEntries = <D extends Declaration>(
  declaration: D,
  texts: Texts<D> = {},
): Entries<D> =>
  Object.fromEntries(
    Object.entries(declaration).map(([name, option]) => [
      name,
      described(v.optional(texts[name] ?? leafFor(option), option.default), option.why),
    ]),
    // Every key of the declaration has an entry of its kind, as the type states.
  ) as unknown as Entries<D>

/**
 * A table of a part. To what the file gives, the part's constants are added: they are no options,
 * and only a sandbox or a test may set them.
 */
export const partTable = <E extends v.ObjectEntries, C extends object>(entries: E, defaults: C) => {
  const constants = Object.entries(defaults).filter(([name]) => !(name in entries))
  return v.pipe(
    v.strictObject(entries),
    v.metadata({ constants: Object.fromEntries(constants) }),
    v.transform(given => ({ ...defaults, ...given })),
  )
}

/** What the module of a part exports: its options, and its constants with their defaults. */
export type Part<D, C> = { readonly options: D; readonly defaults: C }

/** A table, which may be absent, of exactly a part's options. */
export const optionsTable = <D extends Declaration, C extends object>(
  { options, defaults }: Part<D, C>,
  texts: Texts<D> = {},
) => section(partTable(optionEntries(options, texts), defaults))

/** The place of the constants of a part without options. */
export const constantsTable = <C extends object>(constants: C) => section(partTable({}, constants))
