import { walkOptions } from '../options.js'
import { configSchema } from '../schema.js'
import type { SecretOption } from '../validators/validators.js'

/** A secret option with its path in the file; an element of a list of tables has the key `[]`. */
export type FoundSecret = SecretOption & { readonly keys: readonly string[] }

/** Every option of the file that is or may contain a secret. */
export const SECRETS: readonly FoundSecret[] = Array.from(walkOptions(configSchema)).flatMap(
  ({ keys, marks }) => {
    const secret = marks['secret'] as SecretOption | undefined
    return secret === undefined ? [] : [{ ...secret, keys }]
  },
)
