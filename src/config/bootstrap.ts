import * as v from 'valibot'
import { section } from './validators.js'
import { defaults as archive } from '../ingest/bootstrap/archive-options.js'
import { defaults as bootstrap } from '../ingest/bootstrap/options.js'
import { integer, optionEntries, optionsSchema } from './options-schema.js'
import { defaults as load } from '../native/loader.js'

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
