import type { AccessService } from '../../access/service.js'
import type { Access, TokenScope } from '../../access/store/tables.js'
import type { TokenInfo } from '../../access/tokens/token-manager.js'
import { RpcError } from '../../shared/errors.js'
import type { Session } from '../auth/session.js'

/**
 * The access of the signed-in person. That of someone else is answered as one that does not exist.
 */
export const findOwnAccess = (
  accessService: AccessService,
  { subject }: Session,
  accessId: string,
): Access => {
  const access = accessService.find(accessId)
  if (access === undefined || access.subject !== subject) throw new RpcError('noSuchAccess')
  return access
}

/** The scope, if it is part of an access of the signed-in person. */
export const checkOwnScope = (
  accessService: AccessService,
  session: Session,
  scope: TokenScope,
): TokenScope => {
  const access = findOwnAccess(accessService, session, scope.accessId)
  if (!access.networks.includes(scope.network))
    throw new RpcError('notOffered', { what: 'network' })
  if (!access.locations.includes(scope.location))
    throw new RpcError('notOffered', { what: 'location' })
  return scope
}

/** The active token of a scope. */
export const findToken = (
  accessService: AccessService,
  { accessId, network, location }: TokenScope,
): TokenInfo | undefined =>
  accessService
    .list(accessId)
    .find(token => token.network === network && token.location === location)
