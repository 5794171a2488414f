import * as v from 'valibot'
import { described, port } from '../validators/options-schema.js'
import { host } from '../validators/validators.js'

/** Where the metrics of all processes are served, at `/metrics`. */
export const metricsSection = v.strictObject({
  host: described(v.optional(host, '127.0.0.1'), 'Loopback: the page has no authentication.'),
  hosts: described(
    v.optional(v.array(host), []),
    'Names in the `Host` header under which the page is served, besides those of loopback and `host`.',
  ),
  port: described(
    v.optional(port, 9_464),
    'The first port that Prometheus keeps for exporters without one of their own.',
  ),
})
