import type { AccessService } from '../../access/service.js'
import { stateOf } from '../../access/accesses/access-manager.js'
import type { TokenScope } from '../../access/store/tables.js'
import type { NewToken, TokenInfo } from '../../access/tokens/token-manager.js'
import type { OwnAccess } from '../http/guard.js'
import type { Catalog } from './catalog.js'

/** Placeholder for the hidden characters of a token. */
const MASK = 'slt_••••••••'

/** The URLs of a location with a token in them. */
export const urlsOf = (
  catalog: Catalog,
  { location }: Pick<TokenScope, 'location'>,
  token: string,
) => {
  const { rpcOrigin = '', wsOrigin = '' } = catalog.location(location) ?? {}
  return { rpcUrl: `${rpcOrigin}/${token}`, wsUrl: `${wsOrigin}/${token}` }
}

/** A token as the page shows it. The URLs have the given token, by default the masked one. */
export const toPanel = (catalog: Catalog, info: TokenInfo, token = `${MASK}${info.tail}`) => ({
  token: {
    tokenId: info.tokenId,
    masked: `${MASK}${info.tail}`,
    createdAtMs: info.createdAtMs,
    address: info.address ?? null,
    former: info.former ?? null,
  },
  ...urlsOf(catalog, info, token),
  streamingTargets: catalog.location(info.location)?.streamingTargets ?? [],
  submissionRoutes: catalog.submissionRoutes(info.network),
})

/** A new token as the page shows it, with its secret. */
export const toNewPanel = (catalog: Catalog, made: NewToken) => {
  const secret = made.token.reveal()
  return { ...toPanel(catalog, made, secret), secret }
}

/** An access as the page shows it. */
export const toAccessView = (
  { accessService, catalog }: { readonly accessService: AccessService; readonly catalog: Catalog },
  { access, role }: OwnAccess,
  nowMs: number,
) => ({
  accessId: access.accessId,
  role,
  kind: access.kind,
  state: stateOf(access, nowMs),
  product: catalog.product(access.product),
  label: access.holderLabel ?? '',
  networks: access.networks.map(id => ({ id, name: catalog.networkName(id) })),
  locations: access.locations.map(id => ({ id, name: catalog.location(id)?.name ?? id })),
  limits: access.limits,
  validFromMs: access.validFromMs,
  validUntilMs: access.validUntilMs,
  endedAtMs: access.endedAtMs,
  tokens: accessService
    .list(access.accessId)
    .map(({ network, location }) => ({ network, location })),
})
