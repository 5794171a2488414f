import * as v from 'valibot'
import { section } from './config-values.js'
import { defaults as archive } from './ingest/archive-options.js'
import { defaults as bootstrap } from './ingest/bootstrap-options.js'
import { integer, optionEntries, optionsSchema } from './shared/options-schema.js'
import { defaults as load } from './shared/store-loader.js'

/** How stores are made: of snapshots, and of an upstream RPC. */
export const bootstrapSection = v.strictObject({
  ...optionEntries(bootstrap),
  load: section(optionsSchema(load)),
  archive: section(
    optionsSchema(archive, {
      redirectsMax: integer(0, 20, 'redirects'),
      attemptsMax: integer(1, 1_000, 'tries'),
      // One read of a socket at least, and no more than a memory has for it.
      aheadBytesMax: integer(256 * 1024, 1024 ** 3, 'bytes'),
    }),
  ),
})
