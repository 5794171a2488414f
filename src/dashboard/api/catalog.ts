/** Names of products, networks and locations, and the addresses of locations. */
export type Catalog = {
  product(id: string): { readonly id: string; readonly name: string; readonly kind: string }
  networkName(id: string): string
  location(id: string): CatalogLocation | undefined
  submissionRoutes(networkId: string): readonly SubmissionRoute[]
  /** Where transactions of the network can be looked at; `{signature}` is the place of theirs. */
  explorerUrl(networkId: string): string | undefined
}

export type CatalogLocation = {
  readonly id: string
  readonly name: string
  /** Origins of the location's URLs; the token follows after `/`. */
  readonly rpcOrigin: string
  readonly wsOrigin: string
  readonly streamingTargets: readonly StreamingTarget[]
}

/** A further service of a location. */
export type StreamingTarget = {
  readonly name: string
  readonly url: string
  /** How clients authenticate there; undefined if the operator does not say. */
  readonly authentication?: string | undefined
}

/** A submission route of a network. */
export type SubmissionRoute = {
  /** What follows the RPC URL. */
  readonly path: SubmissionPath
  /** What a submission has to pay, to one of the accounts of each. */
  readonly tips: readonly Tip[]
}

export type Tip = {
  readonly payee: 'lander' | 'lane' | 'service' | 'engine'
  readonly lamportsMin: number
  readonly accounts: readonly string[]
}

export const SUBMISSION_PATHS = [
  '/lander',
  '/lander-submit-bundle',
  '/lander-submit-batch',
  '/send',
  '/race',
  '/relay',
  '/relay-bundle',
] as const
type SubmissionPath = (typeof SUBMISSION_PATHS)[number]
