import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../shared/files/atomic-file.js'

/**
 * What the last service of a data directory ran with: a file, or, where there was none as in a
 * sandbox, the configuration itself.
 */
export type ServiceFile = { readonly configFile: string } | { readonly config: unknown }

const NAME = 'service.json'

/** Records what a service runs with, for commands that know its data directory only. */
export const writeServiceFile = (dataDir: string, service: ServiceFile): void =>
  replaceFile(join(dataDir, NAME), `${JSON.stringify(service)}\n`)

/** What the last service of this data directory ran with. Throws if none has run. */
export const readServiceFile = (dataDir: string): ServiceFile => {
  try {
    return JSON.parse(readFileSync(join(dataDir, NAME), 'utf8')) as ServiceFile
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new Error(`no service has run on the data directory ${dataDir}: give --config`, {
        cause: error,
      })
    throw error
  }
}
