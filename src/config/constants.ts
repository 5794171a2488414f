import { tablesWith, walkOptions } from './options.js'
import { configSchema } from './schema.js'

/** Paths of the constants of parts. */
export const CONSTANTS = Array.from(walkOptions(configSchema)).flatMap(({ within, marks }) =>
  Object.keys(marks['constants'] ?? {}).map(name => within.concat(name)),
)

/** A constant that a configuration sets. */
export type GivenConstant = { readonly path: readonly string[]; readonly value: unknown }

/** Takes the constants of parts out of a configuration: only its options remain. */
export const takeConstants = (given: unknown): readonly GivenConstant[] => {
  const taken: GivenConstant[] = []
  for (const keys of CONSTANTS)
    for (const { table, path } of tablesWith(given, keys)) {
      const name = path.at(-1) ?? ''
      if (!(name in table)) continue
      taken.push({ path, value: table[name] })
      delete table[name]
    }
  return taken
}

/** Sets constants that were taken, in a configuration that is complete. */
export const putConstants = (config: object, taken: readonly GivenConstant[]): void => {
  for (const { path, value } of taken)
    for (const { table } of tablesWith(config, path)) table[path.at(-1) ?? ''] = value
}
