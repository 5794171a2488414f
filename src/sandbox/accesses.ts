import type { Administration } from '../access/service.js'
import type { NewAccess } from '../access/accesses.js'
import { endOf } from '../access/accesses.js'
import type { Access } from '../access/tables.js'
import type { Limits } from '../shared/grant.js'

/** The sandbox is for load tests too: the access behind sandbox.json is wide. */
const WIDE: Limits = {
  requestsPerSecondMax: 1_000_000,
  requestsBurstMax: 1_000_000,
  requestsInFlightMax: 10_000,
  socketsMax: 20_000,
  subscriptionsPerSocketMax: 10_000,
}

/** The other one is narrow, so that its limits can be met by hand. */
const NARROW: Limits = {
  requestsPerSecondMax: 10,
  requestsBurstMax: 20,
  requestsInFlightMax: 4,
  socketsMax: 4,
  subscriptionsPerSocketMax: 10,
}

const RENTAL_MS = 30 * 86_400_000

/** Where the accesses of the sandbox hold. */
type Offer = { readonly network: string; readonly locations: readonly string[] }

const offers = (access: Access, { network, locations }: Offer): boolean =>
  access.networks.includes(network) && locations.every(id => access.locations.includes(id))

/**
 * The accesses of the sandbox's two people, made at the first start and kept after: a pass, with a
 * token at every location, and a rental without one. Answers with the tokens by location.
 */
export const ensureSandboxAccesses = async (
  administration: Administration,
  offer: Offer,
  nowMs: number,
): Promise<Readonly<Record<string, string>>> => {
  const ensure = async (own: Pick<NewAccess, 'subject' | 'kind' | 'limits' | 'validUntilMs'>) => {
    const found = administration.listOf(own.subject).find(access => offers(access, offer))
    if (found !== undefined && nowMs < endOf(found)) return found
    if (found !== undefined) return administration.extend(found.accessId, own.validUntilMs)
    const { network, locations } = offer
    const rest = { product: 'node-access', networks: [network], locations, validFromMs: nowMs }
    return administration.grant({ ...own, ...rest })
  }
  const pass = await ensure({
    subject: 'sandbox',
    kind: 'pass',
    limits: WIDE,
    validUntilMs: null,
  })
  await ensure({
    subject: 'renter',
    kind: 'rental',
    limits: NARROW,
    validUntilMs: nowMs + RENTAL_MS,
  })
  const tokens: Record<string, string> = {}
  for (const location of offer.locations) {
    const place = { accessId: pass.accessId, network: offer.network, location }
    const kept = await administration.reveal(place)
    tokens[location] = (kept ?? (await administration.generate(place)).token).reveal()
  }
  return tokens
}
