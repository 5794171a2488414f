import { decodePubkeys } from '../../native/encoding.js'
import type { TipGroup } from '../../native/reads.js'
import type { EdgeConfig } from '../../config/child-config.js'

type Network = EdgeConfig['networks'][number]

/**
 * The tip accounts of a network by whom they pay: `lander` and `lander.service`, `relay.engine` and
 * `relay.service`, and the name of each lane that takes tips.
 */
export const toTipGroups = ({
  lander,
  relay,
  relayBundle,
  lanes,
}: Network): readonly TipGroup[] => {
  const relays = [relay ?? [], relayBundle ?? []].flat()
  const groups: readonly (readonly [name: string, addresses: readonly string[]])[] = [
    ['lander', lander?.tipAddresses ?? []],
    ['lander.service', lander?.serviceTipAddresses ?? []],
    ['relay.engine', relays.flatMap(({ engineTipAddresses }) => engineTipAddresses)],
    ['relay.service', relays.flatMap(({ serviceTipAddresses }) => serviceTipAddresses)],
    ...lanes.map(({ id, tipAddresses }) => [id, tipAddresses] as const),
  ]
  return groups
    .filter(([, addresses]) => addresses.length > 0)
    .map(([name, addresses]) => ({ name, accounts: decodePubkeys([...new Set(addresses)]) }))
}
