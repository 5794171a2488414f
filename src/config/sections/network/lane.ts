import * as v from 'valibot'
import { LANE_KINDS } from '../../../submission/lanes/lane.js'
import { defaults, options } from '../../../submission/lanes/options.js'
import { described, oneOf, optionEntries, partTable } from '../../validators/options-schema.js'
import {
  headerName,
  id,
  laneCredential,
  laneUrl,
  pathOrEmpty,
  pubkey,
  secret,
  secretFile,
} from '../../validators/validators.js'

/** Lanes of a network: each is written to by every race. */
const LANES_MAX = 16

const lane = partTable(
  {
    id: described(id, 'Name of the lane, in replies, records and metrics.'),
    kind: described(
      oneOf(LANE_KINDS),
      'How it takes a transaction: jsonrpc as `sendTransaction`; json in JSON of the sender; octets as the body of a request; frame as a batch of one; text as its base64; quic-frame on a stream each, with the key of the service; quic-tpu on a stream each, as a node.',
    ),
    url: described(
      secret(laneUrl, 'url', 'sender'),
      'Where it leads, with path and query; of a QUIC kind quic://host:port. Everything after the host is never printed.',
    ),
    credential: described(
      secret(v.optional(laneCredential), 'all', 'sender'),
      'The service’s key at the sender; of quic-tpu its keypair in base58, without which a new key is used; of bloxroute a certificate and its key in PEM. Never printed.',
    ),
    credentialFile: secretFile('credential'),
    tipAddresses: described(
      v.optional(v.array(pubkey), []),
      'Tip accounts of the sender. Empty for one that takes no tips, whose floor is 0.',
    ),
    ...optionEntries(options, {
      credentialName: headerName,
      pingPath: secret(pathOrEmpty, 'query', 'sender'),
    }),
  },
  defaults,
)

/** Senders that a race sends to at the same time. */
export const lanesSection = v.optional(
  v.pipe(v.array(lane), v.maxLength(LANES_MAX, `at most ${LANES_MAX} lanes`)),
  [],
)
