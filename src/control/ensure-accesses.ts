import { endOf, type NewAccess } from '../access/accesses/accesses.js'
import type { Administration } from '../access/service.js'
import type { Access } from '../access/store/tables.js'

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
  administration: Administration,
  network: string,
  wanted: AccessToEnsure,
  nowMs: number,
): Promise<Access> => {
  const { hasTokens: _hasTokens, validForMs, ...own } = wanted
  const validUntilMs = validForMs === null ? null : nowMs + validForMs
  const found = administration
    .listOf(own.subject)
    .find(access => covers(access, network, own.locations))
  if (found === undefined)
    return administration.grant({ ...own, networks: [network], validFromMs: nowMs, validUntilMs })
  return nowMs < endOf(found) ? found : administration.extend(found.accessId, validUntilMs)
}

/**
 * Grants the accesses of one network that do not exist yet. Answers the tokens by location of
 * those that have tokens.
 */
export const ensureAccesses = async (
  administration: Administration,
  network: string,
  accesses: readonly AccessToEnsure[],
  nowMs: number,
): Promise<Readonly<Record<string, string>>> => {
  const tokens: Record<string, string> = {}
  for (const wanted of accesses) {
    const { accessId } = await ensure(administration, network, wanted, nowMs)
    for (const location of wanted.hasTokens ? wanted.locations : []) {
      const scope = { accessId, network, location }
      const existing = await administration.reveal(scope)
      tokens[location] = (existing ?? (await administration.generate(scope)).token).reveal()
    }
  }
  return tokens
}
