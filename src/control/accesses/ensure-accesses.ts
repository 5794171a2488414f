import { endOf, type NewAccess } from '../../access/accesses/access-manager.js'
import type { AccessService } from '../../access/service.js'
import type { Access } from '../../access/store/tables.js'

/** An access that must exist: found by its subject, network and locations, or else granted. */
export type AccessToEnsure = Pick<NewAccess, 'subject' | 'kind' | 'limits' | 'product'> & {
  readonly locations: readonly string[]
  /** From now on; null has no end. An access that has ended is extended by it. */
  readonly validForMs: number | null
  /** Whether it has a token at each of its locations. */
  readonly hasTokens: boolean
}

const covers = (access: Access, network: string, locations: readonly string[]): boolean =>
  access.networks.includes(network) && locations.every(id => access.locations.includes(id))

const ensure = async (
  accessService: AccessService,
  network: string,
  wanted: AccessToEnsure,
  nowMs: number,
): Promise<Access> => {
  const { hasTokens: _hasTokens, validForMs, ...own } = wanted
  const validUntilMs = validForMs === null ? null : nowMs + validForMs
  const found = accessService
    .listOf(own.subject)
    .find(access => covers(access, network, own.locations))
  if (found === undefined)
    return accessService.grant({ ...own, networks: [network], validFromMs: nowMs, validUntilMs })
  return nowMs < endOf(found) ? found : accessService.extend(found.accessId, validUntilMs)
}

/**
 * Grants the accesses of one network that do not exist yet. Answers the tokens by location of
 * those that have tokens.
 */
export const ensureAccesses = async (
  accessService: AccessService,
  network: string,
  accesses: readonly AccessToEnsure[],
  nowMs: number,
): Promise<Readonly<Record<string, string>>> => {
  const tokens: Record<string, string> = {}
  for (const wanted of accesses) {
    const { accessId } = await ensure(accessService, network, wanted, nowMs)
    for (const location of wanted.hasTokens ? wanted.locations : []) {
      const scope = { accessId, network, location }
      const existing = await accessService.reveal(scope)
      tokens[location] = (existing ?? (await accessService.generate(scope)).token).reveal()
    }
  }
  return tokens
}
