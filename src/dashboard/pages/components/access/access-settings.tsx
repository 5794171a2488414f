import { AlertCards } from '../alerts/alert-cards.js'
import { KeysCard } from '../keys/keys-card.js'
import { MembersCard } from '../members/members-card.js'
import type { Access } from '../../lib/wire.js'

/** What the owner sets for an access as a whole: one card each. */
export const AccessSettings = ({ access: { accessId } }: { readonly access: Access }) => (
  <div class="stack is-columns">
    <AlertCards key={accessId} accessId={accessId} />
    <KeysCard key={`keys ${accessId}`} accessId={accessId} />
    <MembersCard key={`members ${accessId}`} accessId={accessId} />
  </div>
)
