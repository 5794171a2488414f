import * as v from 'valibot'
import * as limits from '../../shared/access-limits.js'
import { described, oneOf, optionsTable, text } from '../validators/options-schema.js'
import { id } from '../validators/validators.js'

/** A product, of which accesses are granted. */
export const product = v.strictObject({
  id: described(id, 'Name of the product in accesses.'),
  name: described(text(), 'Display name.'),
  kind: described(
    v.optional(oneOf(['node-access']), 'node-access'),
    'Its kind: RPC, WebSocket and submission on networks.',
  ),
  networks: described(v.optional(v.array(id)), 'Networks that it offers; absent is all.'),
  locations: described(v.optional(v.array(id)), 'Locations that it offers; absent is all.'),
  limits: described(
    optionsTable(limits),
    'Limits of each access, over all edges of the machine. Copied into an access when it is granted.',
  ),
})
