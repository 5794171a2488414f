import { stateOf } from '../../access/accesses/access-manager.js'
import type { AccessPerson } from '../../access/members/members.js'
import type { AccessService } from '../../access/service.js'
import { createOwnAccesses } from '../http/guard.js'

/**
 * What a person has, as a text that differs after every change that the page shows: terms and
 * states of accesses, the roles in them, and which tokens they have.
 */
export const createStateOf = ({
  accessService,
  isCurrent,
  now,
}: {
  readonly accessService: Pick<AccessService, 'list' | 'listFor'>
  readonly isCurrent: () => boolean
  readonly now: () => number
}) => {
  const ownAccesses = createOwnAccesses(accessService, isCurrent)
  return (person: AccessPerson): string =>
    JSON.stringify(
      ownAccesses(person).map(({ access, role }) => [
        access,
        role,
        stateOf(access, now()),
        accessService
          .list(access.accessId)
          .map(({ address, tokenId }) => [tokenId, address ?? null]),
      ]),
    )
}
