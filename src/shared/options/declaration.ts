/** Largest values of options by their unit; of another unit, those of 32 bits. */
const UNIT_MAX: Readonly<Record<string, number>> = {
  // A timer longer than this fires at once.
  milliseconds: 2 ** 31 - 1,
  seconds: 2 ** 31 - 1,
  bytes: Number.MAX_SAFE_INTEGER,
  lamports: Number.MAX_SAFE_INTEGER,
  threads: 256,
  percent: 100,
}

type NumberOption = {
  readonly default: number
  readonly unit: string
  /** Absent is 1, or 0 if that is the default. */
  readonly min?: number
  /** Absent is the largest value of the unit. */
  readonly max?: number
}
type WordOption = { readonly default: string; readonly words: readonly string[] }
/** A text of which the configuration checks more than that it is one. */
type TextOption = { readonly default: string }
type FlagOption = { readonly default: boolean }

/** One option: its default, what it may be, and why it is there and has this default. */
export type Option = (NumberOption | WordOption | TextOption | FlagOption) & {
  readonly why: string
}

/** The options of a part that an operator sets. What is said of them follows from it. */
export type Declaration = Readonly<Record<string, Option>>

/** Values of declared options. */
export type OptionsOf<D extends Declaration> = {
  readonly [K in keyof D]: D[K]['default'] extends boolean ? boolean : D[K]['default']
}

/** Least and greatest value of an option that is a number. */
export const rangeOf = (option: NumberOption): { readonly min: number; readonly max: number } => ({
  min: option.min ?? (option.default === 0 ? 0 : 1),
  max: option.max ?? UNIT_MAX[option.unit] ?? 2 ** 32 - 1,
})

/** The defaults of declared options. */
export const defaultsOf = <D extends Declaration>(declaration: D): OptionsOf<D> =>
  Object.fromEntries(
    Object.entries(declaration).map(([name, option]) => [name, option.default]),
    // Every key of the declaration has the type of its default.
  ) as OptionsOf<D>

/** A declaration with other defaults, of a part that is used for several purposes. */
export const withDefaults = <D extends Declaration>(
  declaration: D,
  own: Partial<OptionsOf<D>>,
): D =>
  Object.fromEntries(
    Object.entries(declaration).map(([name, option]) => [
      name,
      name in own ? { ...option, default: own[name] } : option,
    ]),
    // Only values of the same type are replaced.
  ) as D
