/** Names of products, networks and locations, and the addresses of locations. */
export type Catalog = {
  product(id: string): { readonly id: string; readonly name: string; readonly kind: string }
  networkName(id: string): string
  location(id: string): CatalogLocation | undefined
}

export type CatalogLocation = {
  readonly id: string
  readonly name: string
  /** Origins of the location's URLs; the token follows after `/`. */
  readonly rpcOrigin: string
  readonly wsOrigin: string
  readonly streamingTargets: readonly { readonly name: string; readonly url: string }[]
}
