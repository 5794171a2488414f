import type { Reply } from '../shared/http.js'

/** A whole answer, whatever its status. */
export type UpstreamReply = {
  readonly status: number
  /** Empty where the upstream gave none. */
  readonly contentType: string
  /** Those of the upstream's headers that a client may have, by lower-case name. */
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly body: Buffer
}

/** An answer as the reply to a client. */
export const passOn = ({ status, contentType, headers, body }: UpstreamReply): Reply => ({
  status,
  contentType,
  body,
  ...(headers !== undefined && { headers }),
})

/** By lower-case name. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

const firstOf = (value: string | string[] | undefined): string =>
  (Array.isArray(value) ? value[0] : value) ?? ''

/** Seconds, or a date as HTTP writes it. */
const RETRY_AFTER =
  /^(?:\d{1,6}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)$/

/** A browser would guess a type that is absent, and run a page of these. */
const NOT_SNIFFED = /^application\/(?:json|octet-stream)\b/i

/**
 * All that passes beside status and content type. What names the server or sets a cookie does not.
 */
const passedOf = (contentType: string, headers: Headers): Record<string, string> | undefined => {
  let passed: Record<string, string> | undefined
  const retryAfter = firstOf(headers['retry-after'])
  if (RETRY_AFTER.test(retryAfter)) passed = { 'retry-after': retryAfter }
  if (!NOT_SNIFFED.test(contentType)) (passed ??= {})['x-content-type-options'] = 'nosniff'
  return passed
}

/** An empty member of the list means nothing (RFC 9110 §5.6.1). */
const IDENTITY: ReadonlySet<string> = new Set(['', 'identity'])

/** The part of an answer's head that is passed on. */
export type ReplyHead = Omit<UpstreamReply, 'body'>

export const toReplyHead = (status: number, headers: Headers): ReplyHead => {
  const contentType = firstOf(headers['content-type'])
  return { status, contentType, headers: passedOf(contentType, headers) }
}

/** True for a body in another form than its bytes, although `identity` was asked for. */
export const isEncoded = ({ 'content-encoding': lines = '' }: Headers): boolean =>
  [lines]
    .flat()
    .flatMap(line => line.split(','))
    .some(coding => !IDENTITY.has(coding.trim().toLowerCase()))
