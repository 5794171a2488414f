import * as v from 'valibot'
import { section } from '../validators/validators.js'
import { defaults as archive } from '../../ingest/bootstrap/archive-options.js'
import { defaults as bootstrap } from '../../ingest/bootstrap/options.js'
import { integer, optionEntries, optionsSchema } from '../validators/options-schema.js'
import { defaults as load } from '../../ingest/bootstrap/load-options.js'

/** Options of making stores from snapshots and from an upstream RPC. */
export const bootstrapSection = v.strictObject({
  ...optionEntries(bootstrap),
  load: section(optionsSchema(load)),
  archive: section(
    optionsSchema(archive, {
      redirectsMax: integer(0, 20, 'redirects'),
      attemptsMax: integer(1, 1_000, 'tries'),
      // From one read of a socket to the largest allowed memory.
      aheadBytesMax: integer(256 * 1024, 1024 ** 3, 'bytes'),
    }),
  ),
})
