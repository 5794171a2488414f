/** A request with its whole body. */
export type UpstreamRequest = {
  readonly method: string
  readonly pathname: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** The answer to such a request. */
export type UpstreamAnswer = {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}
