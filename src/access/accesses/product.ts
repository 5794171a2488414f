import { RpcError } from '../../shared/errors.js'
import { mapLimits, type Limits } from '../../shared/access-limits.js'
import type { NewAccess } from './access-manager.js'

/** A product: networks and locations, with limits. */
export type Product = {
  readonly id: string
  readonly name: string
  readonly kind: 'node-access'
  readonly networks: readonly string[]
  readonly locations: readonly string[]
  readonly limits: Limits
}

/** A request for an access. Absent fields are taken from the product. */
export type GrantRequest = {
  readonly subject: string
  readonly kind: 'pass' | 'rental'
  readonly product: string
  readonly networks?: readonly string[] | undefined
  readonly locations?: readonly string[] | undefined
  readonly limits?: { readonly [K in keyof Limits]?: Limits[K] | undefined } | undefined
  readonly validFromMs?: number | undefined
  readonly validUntilMs?: number | null | undefined
}

const pick = (
  what: 'network' | 'location',
  offered: readonly string[],
  wanted: readonly string[] = offered,
): readonly string[] => {
  const other = wanted.find(id => !offered.includes(id))
  if (other !== undefined) throw new RpcError('notInProduct', { what, id: other })
  if (wanted.length === 0) throw new RpcError('nothingGranted', { what })
  return [...new Set(wanted)]
}

/**
 * Adds the defaults of the product. Limits are copied, so a later change of the product does not
 * affect the access.
 */
export const toNewAccess = (
  products: readonly Product[],
  request: GrantRequest,
  nowMs: number,
): NewAccess => {
  const product = products.find(({ id }) => id === request.product)
  if (product === undefined) throw new RpcError('noSuchProduct', { id: request.product })
  const { limits = {} } = request
  return {
    subject: request.subject,
    kind: request.kind,
    product: product.id,
    networks: pick('network', product.networks, request.networks),
    locations: pick('location', product.locations, request.locations),
    limits: mapLimits(name => limits[name] ?? product.limits[name]),
    validFromMs: request.validFromMs ?? nowMs,
    validUntilMs: request.validUntilMs ?? null,
  }
}
