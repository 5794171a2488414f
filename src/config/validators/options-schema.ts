import * as v from 'valibot'

/** Options of one part, as in its `defaults`. */
export type Defaults = Readonly<Record<string, number | string | boolean>>

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

// The unit is the last word of a name, before a bound. A timer longer than 2^31 − 1 ms fires at
// once.
const UNITS: readonly [suffix: RegExp, unit: string, max: number][] = [
  [/Ms(Max)?$/, 'milliseconds', 2 ** 31 - 1],
  [/Seconds(Max)?$/, 'seconds', 2 ** 31 - 1],
  [/[bB]ytes([A-Z][a-zA-Z]*)?$/, 'bytes', Number.MAX_SAFE_INTEGER],
  [/Slots(Max)?$/, 'slots', 2 ** 32 - 1],
  [/Lamports$/, 'lamports', Number.MAX_SAFE_INTEGER],
  [/Chars(Max)?$/, 'characters', 2 ** 32 - 1],
  [/[tT]hreads$/, 'threads', 256],
  [/Micros$/, 'microseconds', 100_000],
  [/Niceness$/, 'niceness', 19],
  [/(Count|Factor)$/, 'count', 2 ** 32 - 1],
  [/Max$/, 'count', 2 ** 32 - 1],
]

const leafFor = (
  name: string,
  value: number | string | boolean,
): Leaf<number | string | boolean> => {
  if (typeof value === 'boolean') return leaf(given => typeof given === 'boolean', 'true or false')
  if (typeof value === 'string') return leaf(given => typeof given === 'string', 'a text')
  if (name === 'port') return port
  const [, unit = '', max = 2 ** 32 - 1] = UNITS.find(([suffix]) => suffix.test(name)) ?? []
  if (!Number.isInteger(value))
    return leaf(
      given => typeof given === 'number' && given >= 0 && given <= max,
      `a number from 0 to ${max}`,
    )
  // Zero is valid only if the default is zero.
  return integer(value === 0 ? 0 : 1, max, unit)
}

/** Overrides for single options, if the kind of the default is not enough. */
export type Rules<T> = { readonly [K in keyof T]?: Leaf<T[K]> }

/** Schemas of a part's options, to be spread into a table with other keys. */
export type Entries<T> = { readonly [K in keyof T]: v.OptionalSchema<Leaf<T[K]>, T[K]> }

/**
 * Schemas of a part's options, each checked by the kind of its default, which replaces an omitted
 * value.
 */
export const optionEntries = <T extends Defaults>(defaults: T, rules: Rules<T> = {}): Entries<T> =>
  Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      v.optional(rules[name] ?? leafFor(name, value), value),
    ]),
    // Every key of `defaults` has an entry of its kind, as the type states.
  ) as unknown as Entries<T>

/** A table of exactly a part's options. */
export const optionsSchema = <T extends Defaults>(defaults: T, rules: Rules<T> = {}) =>
  v.strictObject(optionEntries(defaults, rules))
