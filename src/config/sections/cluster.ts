import * as v from 'valibot'
import { defaults } from '../../cluster/options.js'
import { leaf, optionEntries } from '../validators/options-schema.js'
import { caFile, described, id } from '../validators/validators.js'

const member = leaf<string>(
  value =>
    typeof value === 'string' && URL.canParse(value) && /^https:\/\/[^/?#@]+:\d+$/.test(value),
  'https://host:port',
)

/** This machine as one of several that share their accesses. */
export const clusterSection = v.strictObject({
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
  ...optionEntries(defaults),
})
