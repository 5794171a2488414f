import * as v from 'valibot'
import { defaults, options } from '../../cluster/options.js'
import { described, leaf, optionEntries, partTable } from '../validators/options-schema.js'
import { caFile, id } from '../validators/validators.js'

const isServer = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && /^https:\/\/[^/?#@]+:\d+$/.test(value)

const member = leaf<string>(isServer, 'https://host:port')
const address = leaf<string>(value => isServer(`https://${value}`), 'host:port')

/** This machine as one of several that share their accesses. */
export const clusterSection = partTable(
  {
    id: described(id, 'Name of the cluster: machines of one cluster share all accesses.'),
    machine: described(id, 'Name of this machine, as `slotline cluster add` added it.'),
    location: described(id, 'The one of `locations` that this machine serves.'),
    store: described(
      v.pipe(v.array(member), v.minLength(1, 'at least one member')),
      'The members of etcd, best three in three failure domains.',
    ),
    caFile: described(caFile, 'Authority of all certificates of the cluster.'),
    certFile: described(caFile, 'Certificate whose common name is `machine`.'),
    keyFile: described(caFile, 'Its key, readable by the user of the service only.'),
    peerUrl: described(
      v.optional(member),
      'Where the other machines reach this one. Without it they lack its usage and submissions.',
    ),
    peerListen: described(
      v.optional(address),
      'Where it listens for them, if that is another address than that of `peerUrl`.',
    ),
    ...optionEntries(options),
  },
  defaults,
)
