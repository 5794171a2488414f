import * as v from 'valibot'
import { defaults as repair, REPAIR_STEPS } from '../../../ingest/repair/options.js'
import { RELAY_PATH, options as relay } from '../../../submission/relay/options.js'
import { DEFAULT_SIGNATURE_RULE, SIGNATURE_RULES } from '../../../submission/signature-rule.js'
import { constantsTable, described, oneOf, text } from '../../validators/options-schema.js'
import { caFile, explorerUrl, filePath, id, pubkey, secret } from '../../validators/validators.js'
import { accountsRpcSection } from './accounts-rpc.js'
import { feedSection } from './feed.js'
import { forwardSection } from './forward.js'
import { landerSection } from './lander.js'
import { lanesSection } from './lane.js'
import { relaySection } from './relay.js'

const scope = v.strictObject({
  programs: described(v.optional(v.array(pubkey), []), 'Every account of these programs.'),
  mints: described(v.optional(v.array(pubkey), []), 'These mints and all their token accounts.'),
  pubkeys: described(v.optional(v.array(pubkey), []), 'These accounts.'),
})

/** One chain with its sources and its submission upstreams. */
export const network = v.strictObject({
  id: described(id, 'Name of the network: of its folder, in tokens and in metrics.'),
  name: described(v.optional(text()), 'Display name; absent is its id.'),
  explorerUrl: described(
    v.optional(explorerUrl),
    'Where the dashboard links transactions of the network to: an https URL in which `{signature}` is the place of the signature; absent is no link.',
  ),
  feed: feedSection,
  repair: constantsTable(repair),
  repairSteps: described(
    v.optional(v.array(oneOf(REPAIR_STEPS)), []),
    'Repair steps for a gap that no server can replay, in this order: incremental brings a copy of the store up to date from the last of `snapshots`, rpc reads the scope from accountsRpc, snapshot loads all `snapshots`. Each makes a new store beside the old one.',
  ),
  snapshots: described(
    filePath(
      secret(
        v.optional(v.pipe(v.array(text('a file or a URL')), v.maxLength(2, 'at most two')), []),
        'url',
        'indexer',
      ),
      'warning',
    ),
    'Snapshots for these steps: a full one, and an incremental one based on it; the latter alone is enough for incremental. Everything after the host is never printed.',
  ),
  snapshotsCaFile: described(
    v.optional(caFile),
    'PEM of a private certificate authority of their servers, instead of those of the system.',
  ),
  changedPrograms: described(
    v.optional(v.array(pubkey)),
    'Programs whose changes are indexed by slot; absent is all, empty is none. Without it `changedSinceSlot` is correct, but slower.',
  ),
  scope: described(v.optional(scope), 'What is indexed; absent is every account.'),
  accountsRpc: described(
    v.optional(accountsRpcSection),
    'RPC for accounts that the feed has not delivered; without it there is no sweep and no bootstrap by RPC.',
  ),
  rpc: described(
    v.optional(forwardSection),
    'Upstream RPC for all other methods; without it they are -32601.',
  ),
  signatureRule: described(
    v.optional(oneOf(SIGNATURE_RULES), DEFAULT_SIGNATURE_RULE),
    'Which signatures the checks of submissions accept: strict as the validators of mainnet, cofactored once those of this network have activated SIMD-0376. Every strictly valid signature is valid by both.',
  ),
  transactionRoute: described(
    v.optional(oneOf(['send', 'race']), 'send'),
    'Where transactions go that come as binary messages of a WebSocket or over QUIC: to the lander as those of `/send`, or to all lanes as those of `/race`.',
  ),
  lander: described(
    v.optional(landerSection),
    'Upstream of the lander routes; without it they answer 404.',
  ),
  lanes: described(
    lanesSection,
    'Senders, to all of which `/race` sends a transaction at once; without one it answers 404.',
  ),
  relay: described(
    v.optional(relaySection({ path: RELAY_PATH, credentialName: 'x-api-key' })),
    'Bundle engine of `/relay`; without it the route answers 404.',
  ),
  relayBundle: described(
    v.optional(relaySection({ path: relay.path.default, credentialName: 'x-jito-auth' })),
    'Bundle engine of `/relay-bundle`; without it the route answers 404.',
  ),
})
