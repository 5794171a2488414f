import * as v from 'valibot'
import { port, text } from '../validators/options-schema.js'
import { described, host, id, origin } from '../validators/validators.js'

const listener = v.strictObject({
  host: described(host, 'Address to listen on.'),
  port: described(port, 'Port to listen on.'),
})

/** A location to which clients connect. */
export const location = v.strictObject({
  id: described(id, 'Name of the location. Its tokens are valid for no other.'),
  name: described(text(), 'Display name.'),
  publicUrl: described(
    v.optional(origin),
    'Base of the location’s URLs for clients; absent is its first listener by plain HTTP.',
  ),
  streamingTargets: described(
    v.optional(
      v.array(
        v.strictObject({
          name: described(text(), 'Display name.'),
          url: described(text('a URL'), 'Shown as it is.'),
        }),
      ),
      [],
    ),
    'Further services of the location, shown with its URLs.',
  ),
  listeners: described(
    v.pipe(v.array(listener), v.minLength(1, 'at least one listener')),
    'Where requests for this location arrive.',
  ),
})
