import * as v from 'valibot'
import { configSchema } from './schema.js'
import type { SecretOption } from './validators/validators.js'

/** A secret option with its path in the file; an element of a list of tables has the key `[]`. */
export type FoundSecret = SecretOption & { readonly keys: readonly string[] }

type Unwrapped = {
  readonly inner: v.GenericSchema
  readonly isList: boolean
  readonly secret: SecretOption | undefined
}

/** The schema inside `optional` and lists, and what they are marked with. */
const unwrap = (schema: v.GenericSchema): Unwrapped => {
  let inner = schema
  let isList = false
  let secret: SecretOption | undefined
  for (;;) {
    secret ??= (v.getMetadata(inner) as { readonly secret?: SecretOption }).secret
    if ('wrapped' in inner) inner = inner.wrapped as v.GenericSchema
    else if ('item' in inner) [inner, isList] = [inner.item as v.GenericSchema, true]
    else return { inner, isList, secret }
  }
}

function* walk(schema: v.GenericSchema, keys: readonly string[]): Generator<FoundSecret> {
  const { inner, isList, secret } = unwrap(schema)
  if (secret !== undefined) yield { ...secret, keys }
  if (!('entries' in inner)) return
  const table = isList ? [...keys, '[]'] : keys
  for (const [name, entry] of Object.entries(inner.entries as Record<string, v.GenericSchema>))
    yield* walk(entry, [...table, name])
}

/** Every option of the file that is or may contain a secret. */
export const SECRETS: readonly FoundSecret[] = [...walk(configSchema, [])]
