import * as v from 'valibot'
import { defaults, options, upstreamDefaults } from '../../../rpc/forward-options.js'
import { described, optionEntries, partTable } from '../../validators/options-schema.js'
import { methodName } from '../../validators/validators.js'
import { upstreamSection } from './upstream.js'

/** The upstream RPC for methods that this service does not answer. */
export const forwardSection = partTable(
  {
    upstream: described(
      upstreamSection('edge', upstreamDefaults),
      'Its URLs, credential and connections.',
    ),
    allow: described(
      v.optional(v.array(methodName)),
      'The only methods that are forwarded; absent is all that the service does not answer itself.',
    ),
    deny: described(
      v.optional(v.array(methodName), []),
      'Methods that are not forwarded, whatever `allow` says: -32601.',
    ),
    ...optionEntries(options),
  },
  defaults,
)
