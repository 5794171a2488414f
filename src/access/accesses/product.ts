import { RpcError } from '../../shared/errors.js'
import { mapLimits, type Limits } from '../../shared/access-limits.js'
import type { Access } from '../store/tables.js'
import { withEnd, type NewAccess } from './access-manager.js'

/** A product: networks and locations, with limits. */
export type Product = {
  readonly id: string
  readonly name: string
  readonly kind: 'node-access'
  readonly networks: readonly string[]
  readonly locations: readonly string[]
  readonly limits: Limits
}

/** The limits that a request names. */
type SomeLimits = { readonly [K in keyof Limits]?: Limits[K] | undefined }

/** A request for an access. Absent fields are taken from the product. */
export type GrantRequest = {
  readonly subject: string
  readonly kind: 'pass' | 'rental'
  readonly product: string
  readonly label?: string | undefined
  readonly networks?: readonly string[] | undefined
  readonly locations?: readonly string[] | undefined
  readonly limits?: SomeLimits | undefined
  readonly validFromMs?: number | undefined
  readonly validUntilMs?: number | null | undefined
}

/** A change of an access. Absent fields, and limits, stay as they are; lists are whole. */
export type AmendRequest = Pick<
  GrantRequest,
  'label' | 'networks' | 'locations' | 'limits' | 'validUntilMs'
>

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
    label: request.label,
    networks: pick('network', product.networks, request.networks),
    locations: pick('location', product.locations, request.locations),
    limits: mapLimits(name => limits[name] ?? product.limits[name]),
    validFromMs: request.validFromMs ?? nowMs,
    validUntilMs: request.validUntilMs ?? null,
  }
}

const amendIds = (
  products: readonly Product[],
  access: Access,
  what: 'network' | 'location',
  wanted: readonly string[] | undefined,
): string[] => {
  const list = `${what}s` as const
  const present = access[list]
  if (wanted === undefined) return present
  // What the access has it may keep, whatever became of the product.
  const added = wanted.filter(id => !present.includes(id))
  const product = products.find(({ id }) => id === access.product)
  if (added.length > 0 && product === undefined)
    throw new RpcError('noSuchProduct', { id: access.product })
  return [...pick(what, [...present, ...(product?.[list] ?? [])], wanted)]
}

/** The access after a change. Throws an RpcError where it may not be changed so. */
export const toAmended = (
  products: readonly Product[],
  request: AmendRequest,
  access: Access,
  nowMs: number,
): Access => {
  const { label, limits = {}, validUntilMs } = request
  const amended = {
    ...access,
    label: label ?? access.label,
    networks: amendIds(products, access, 'network', request.networks),
    locations: amendIds(products, access, 'location', request.locations),
    limits: mapLimits(name => limits[name] ?? access.limits[name]),
  }
  return validUntilMs === undefined ? amended : withEnd(amended, validUntilMs, nowMs)
}
