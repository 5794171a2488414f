import t from 'tap'
import { toTipGroups } from '../../../src/edge/networks/tip-groups.js'

/** An address of a digit. */
const address = (digit: string): string => digit.repeat(43)
const KEY_BYTES = 32

type Network = Parameters<typeof toTipGroups>[0]

const groupsOf = (network: object): readonly (readonly [string, number])[] =>
  toTipGroups(network as Network).map(({ name, accounts }) => [name, accounts.length / KEY_BYTES])

t.test('a group for each of those that tips are paid to', async t => {
  const [one, two, three] = ['A', 'B', 'C'].map(address) as [string, string, string]
  const relay = { engineTipAddresses: [one, two], serviceTipAddresses: [three] }
  const groups = groupsOf({
    lander: { tipAddresses: [one, two], serviceTipAddresses: [] },
    relay,
    relayBundle: { ...relay, engineTipAddresses: [two, three] },
    lanes: [
      { id: 'fast', tipAddresses: [one] },
      { id: 'plain', tipAddresses: [] },
    ],
  })
  t.strictSame(groups, [
    ['lander', 2],
    ['relay.engine', 3],
    ['relay.service', 1],
    ['fast', 1],
  ])
})

t.test('none where nothing can be submitted', async t => {
  t.strictSame(groupsOf({ lanes: [] }), [])
})
