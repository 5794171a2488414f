import type { HttpRequest } from '../compiled/request.js'

/** The headers that decide how a request is read. */
export type ScannedHeaders = {
  /** HTTP/1.0: answered, and the connection closed. */
  readonly isAncient: boolean
  /** False if the request must be refused with 400 and its connection closed. */
  readonly isWellFormed: boolean
  /** Undefined where there is none. */
  readonly contentLength: number | undefined
  readonly contentType: string
  readonly isChunked: boolean
  /** A part of a body of this length has not come, and its client does not wait to be asked. */
  readonly isBodyComing: boolean
  /** Any X-Forwarded-For is present, trusted or not. */
  readonly isForwarded: boolean
}

/** The bytes of a host and a port (RFC 3986, section 3.2); a list of hosts has spaces as well. */
const HOST = /^[\w\-.~%!$&'()*+,;=:[\]]*$/

/** Of more digits the parser reads no length. */
const DIGITS = /^[0-9]{1,15}$/

/**
 * Reads every header once. A proxy in front may read two Content-Lengths, an unknown
 * Transfer-Encoding or an empty Content-Length differently, and then one request can hide another:
 * such requests are not well-formed. The parser takes what follows them for their body, and leaves
 * the refusal to the handler, whose route adds headers to it.
 */
export const scanHeaders = (req: HttpRequest): ScannedHeaders => {
  let contentLength: number | undefined
  let contentType = ''
  let isChunked = false
  let isForwarded = false
  let isExpecting = false
  let hostCount = 0
  let isHost = true
  let lengthCount = 0
  let encodingCount = 0
  req.forEach((name, value) => {
    switch (name) {
      case 'host':
        hostCount++
        isHost = HOST.test(value)
        break
      case 'content-type':
        contentType = value
        break
      case 'content-length':
        contentLength = DIGITS.test(value) ? Number(value) : undefined
        lengthCount++
        break
      case 'expect':
        isExpecting = true
        break
      case 'x-forwarded-for':
        isForwarded = true
        break
      case 'transfer-encoding':
        isChunked = value.toLowerCase() === 'chunked'
        encodingCount++
    }
  })
  const isLengthValid = lengthCount === 0 || (lengthCount === 1 && contentLength !== undefined)
  const isEncodingValid = encodingCount === 0 || (encodingCount === 1 && isChunked)
  // HTTP/1.0 has no Host, and no Transfer-Encoding.
  const { isAncient, isBodyDue } = req
  const isHostValid = isHost && (hostCount === 1 || (isAncient && hostCount === 0))
  const isWellFormed = isHostValid && isLengthValid && isEncodingValid
  const isBodyComing = !isExpecting && contentLength !== undefined && isBodyDue
  return {
    isAncient,
    isWellFormed,
    contentLength,
    contentType,
    isChunked,
    isBodyComing,
    isForwarded,
  }
}
