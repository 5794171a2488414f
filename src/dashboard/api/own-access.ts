import type { AccessService } from '../../access/service.js'
import type { Access, TokenScope } from '../../access/store/tables.js'
import type { TokenInfo } from '../../access/tokens/token-manager.js'
import { RpcError } from '../../shared/errors.js'

/** Network and location of a path as a scope of its access. Throws if that does not offer them. */
export const toScope = (
  { accessId, locations, networks }: Access,
  { location, network }: Pick<TokenScope, 'location' | 'network'>,
): TokenScope => {
  if (!networks.includes(network)) throw new RpcError('notOffered', { what: 'network' })
  if (!locations.includes(location)) throw new RpcError('notOffered', { what: 'location' })
  return { accessId, network, location }
}

/** The active token of a scope. */
export const findToken = (
  accessService: AccessService,
  { accessId, network, location }: TokenScope,
): TokenInfo | undefined =>
  accessService
    .list(accessId)
    .find(token => token.network === network && token.location === location)
