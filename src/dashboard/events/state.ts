import { stateOf } from '../../access/accesses/access-manager.js'
import type { AccessService } from '../../access/service.js'

/**
 * What a person has, as a text that differs after every change that the page shows: terms and
 * states of accesses, and which tokens they have.
 */
export const createStateOf =
  ({
    accessService,
    now,
  }: {
    readonly accessService: Pick<AccessService, 'list' | 'listOf'>
    readonly now: () => number
  }) =>
  (subject: string): string =>
    JSON.stringify(
      accessService
        .listOf(subject)
        .map(access => [
          access,
          stateOf(access, now()),
          accessService
            .list(access.accessId)
            .map(({ address, tokenId }) => [tokenId, address ?? null]),
        ]),
    )
