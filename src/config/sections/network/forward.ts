import * as v from 'valibot'
import { defaults, upstreamDefaults } from '../../../rpc/forward-options.js'
import { oneOf, optionEntries } from '../../validators/options-schema.js'
import { described, methodName } from '../../validators/validators.js'
import { upstreamSection } from './upstream.js'

/** The upstream RPC for methods that this service does not answer. */
export const forwardSection = v.strictObject({
  upstream: described(upstreamSection(upstreamDefaults), 'Its URLs, credential and connections.'),
  allow: described(
    v.optional(v.array(methodName)),
    'The only methods that are forwarded; absent is all that the service does not answer itself.',
  ),
  deny: described(
    v.optional(v.array(methodName), []),
    'Methods that are not forwarded, whatever `allow` says: -32601.',
  ),
  ...optionEntries(defaults, { outsideScope: oneOf(['error', 'forward']) }),
})
