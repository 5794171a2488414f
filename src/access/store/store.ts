import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AccessStore } from './access-store.js'
import { defaults, type Options } from './options.js'
import { openRoot } from './table.js'
import { SCHEMA } from './tables.js'

/** Folder of the access store of a data directory. */
export const storePath = (dataDir: string): string => join(dataDir, 'access')

const checkSchema = (store: AccessStore): void => {
  const meta = store.meta.get('store')
  if (meta?.schema === SCHEMA) return
  throw new Error(
    `access store: layout ${meta?.schema ?? 'unknown'}, but this build reads ${SCHEMA}; ` +
      'run the build that wrote it, or restore a backup of this layout',
  )
}

/** Opens the store to write, and creates it if it is absent. Only one process may do so. */
export const openWriter = async (
  dataDir: string,
  options: Options = defaults,
): Promise<AccessStore> => {
  mkdirSync(storePath(dataDir), { recursive: true, mode: 0o700 })
  const root = openRoot(storePath(dataDir), options, false)
  try {
    const store = new AccessStore(root)
    if (store.meta.get('store') === undefined)
      await store.transaction(() => store.meta.put('store', { schema: SCHEMA, revision: 0 }))
    checkSchema(store)
    return store
  } catch (error) {
    await root.close()
    throw error
  }
}

/** Opens the store to read. It must exist; control creates it at its start. */
export const openReader = async (
  dataDir: string,
  options: Options = defaults,
): Promise<AccessStore> => {
  if (!existsSync(join(storePath(dataDir), 'data.mdb')))
    throw new Error(
      `access store: nothing at ${storePath(dataDir)}; control creates it at its start`,
    )
  return openReaderAt(storePath(dataDir), options)
}

/** Opens a store at any folder to read, such as a copy. */
export const openReaderAt = async (path: string, options: Options): Promise<AccessStore> => {
  const root = openRoot(path, options, true)
  try {
    const store = new AccessStore(root)
    checkSchema(store)
    return store
  } catch (error) {
    await root.close()
    throw error
  }
}
