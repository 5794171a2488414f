import * as v from 'valibot'
import { defaults, options, PLANS } from '../../../ingest/feed/geyser.js'
import {
  described,
  integer,
  oneOf,
  optionEntries,
  partTable,
  text,
} from '../../validators/options-schema.js'
import { caFile, endpoint, secret, secretFile } from '../../validators/validators.js'

/** One Yellowstone server of a feed. */
const source = {
  endpoint: described(
    secret(endpoint, 'url', 'indexer', 'geyser'),
    'Yellowstone gRPC server of the network.',
  ),
  xToken: described(
    secret(v.optional(text()), 'all', 'indexer', 'geyser'),
    'Sent to it as `x-token`. Never printed.',
  ),
  xTokenFile: secretFile('xToken'),
  caFile: described(
    v.optional(caFile),
    'PEM of a private certificate authority, instead of those of the system.',
  ),
}

const fallback = v.strictObject({
  ...source,
  plan: described(
    v.optional(oneOf(PLANS)),
    'How accounts are requested there; absent is as at the first server.',
  ),
})

/** The block feed of a network. */
export const feedSection = partTable(
  {
    ...source,
    fallbacks: described(
      v.optional(v.pipe(v.array(fallback), v.maxLength(8, 'at most 8 servers')), []),
      'Further servers of the same network, each used when the ones before it deliver no blocks. They should replay slots.',
    ),
    startSlot: described(
      v.optional(integer(0, Number.MAX_SAFE_INTEGER, 'slot')),
      'First slot of an empty store; absent is the live head.',
    ),
    ...optionEntries(options),
  },
  defaults,
)
