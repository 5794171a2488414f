/** A whole answer, whatever its status. */
export type UpstreamReply = {
  readonly status: number
  /** Empty where the upstream gave none. */
  readonly contentType: string
  /** Those of the upstream's headers that a client may have, by lower-case name. */
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly body: Buffer
}

/** By lower-case name. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * All that passes beside status and content type. What names the server or sets a cookie does not.
 */
const PASSED = ['content-encoding', 'retry-after']

const firstOf = (value: string | string[] | undefined): string =>
  (Array.isArray(value) ? value[0] : value) ?? ''

const passedOf = (headers: Headers): Record<string, string> | undefined => {
  let passed: Record<string, string> | undefined
  for (const name of PASSED)
    if (headers[name] !== undefined) (passed ??= {})[name] = firstOf(headers[name])
  return passed
}

/** The part of an answer's head that is passed on. */
export type ReplyHead = Omit<UpstreamReply, 'body'>

export const toReplyHead = (status: number, headers: Headers): ReplyHead => ({
  status,
  contentType: firstOf(headers['content-type']),
  headers: passedOf(headers),
})
