import * as archive from '../../ingest/bootstrap/archive-options.js'
import * as load from '../../ingest/bootstrap/load-options.js'
import { defaults, options } from '../../ingest/bootstrap/options.js'
import { optionEntries, optionsTable, partTable } from '../validators/options-schema.js'

/** Options of making stores from snapshots and from an upstream RPC. */
export const bootstrapSection = partTable(
  { ...optionEntries(options), load: optionsTable(load), archive: optionsTable(archive) },
  defaults,
)
