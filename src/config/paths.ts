import { walkOptions } from './options.js'
import { configSchema } from './schema.js'
import type { WhereMissing } from './validators/validators.js'

/** Options that are the path of a file or folder. */
export const PATHS: readonly {
  readonly keys: readonly string[]
  readonly whereMissing: WhereMissing
}[] = Array.from(walkOptions(configSchema)).flatMap(({ keys, marks }) =>
  'whereMissing' in marks ? [{ keys, whereMissing: marks['whereMissing'] as WhereMissing }] : [],
)

/** False for a URL, and for an empty text, which means a default. */
export const isPath = (text: string): boolean => text !== '' && !/^https?:\/\//i.test(text)
