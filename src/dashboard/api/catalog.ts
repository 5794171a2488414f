/** What is offered, as the page shows it: names, and where a location's URLs lead. */
export type Catalog = {
  product(id: string): { readonly id: string; readonly name: string; readonly kind: string }
  networkName(id: string): string
  location(id: string): CatalogLocation | undefined
}

export type CatalogLocation = {
  readonly id: string
  readonly name: string
  /** Origins that clients of the location use; a token follows after `/`. */
  readonly rpcOrigin: string
  readonly wsOrigin: string
  readonly streamingTargets: readonly { readonly name: string; readonly url: string }[]
}
