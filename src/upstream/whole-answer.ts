import { toReplyHead, type ReplyHead, type UpstreamReply } from './reply.js'

const HEAD_END = '\r\n\r\n'
/** A longer head is not looked at. */
const HEAD_BYTES_MAX = 2_048

/**
 * `HTTP/1.1 200 OK` and its header lines, printable ASCII alone, no white space but one blank
 * before a value.
 */
const HEAD = /^HTTP\/1\.1 ([2-5]\d\d) [ -~]*((?:\r\n[\w-]+: ?(?:[!-~](?:[ -~]*[!-~])?)?)*)$/
const LINE = /\r\n([^:]+): ?(.*)/g
const LENGTH = /^\d{1,9}$/
/** Their answers have no body, whatever the head says. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** Where one of these is said, more is to be known of HTTP than is known here. */
const UNUSUAL: ReadonlySet<string> = new Set(['transfer-encoding', 'upgrade'])

/** A head, and how many bytes the body has that follows it. */
type Known = { readonly head: ReplyHead; readonly bodyBytes: number }

const readHead = (text: string): Known | undefined => {
  const [, statusText, lines = ''] = HEAD.exec(text) ?? []
  const status = Number(statusText)
  if (statusText === undefined || BODILESS.has(status)) return undefined
  const headers: Record<string, string> = {}
  for (const [, name = '', value = ''] of lines.matchAll(LINE)) {
    const known = name.toLowerCase()
    if (UNUSUAL.has(known)) return undefined
    if (known === 'content-length' && headers[known] !== undefined) return undefined
    headers[known] ??= value
  }
  const length = headers['content-length'] ?? ''
  if (!LENGTH.test(length)) return undefined
  return { head: toReplyHead(status, headers), bodyBytes: Number(length) }
}

/**
 * An answer that is exactly these bytes, in the form that nearly every server gives it: one
 * `Content-Length` and nothing that would count beside it. Undefined for any other, and for
 * whatever may be none.
 */
export type ReadWhole = (bytes: Buffer) => UpstreamReply | undefined

/** Heads that are remembered: of a second, whose date they have, one for each length of a body. */
const HEADS_MAX = 32

/**
 * Reads answers of one server: their heads differ in the second of their date, and in how long a
 * body is.
 */
export const createReadWhole = (): ReadWhole => {
  const heads = new Map<string, Known | undefined>()
  const headOf = (text: string): Known | undefined => {
    const seen = heads.get(text)
    if (seen !== undefined || heads.has(text)) return seen
    if (heads.size === HEADS_MAX) heads.clear()
    const read = readHead(text)
    heads.set(text, read)
    return read
  }
  return bytes => {
    const headBytes = bytes.subarray(0, HEAD_BYTES_MAX).indexOf(HEAD_END, 0, 'latin1')
    if (headBytes === -1) return undefined
    const known = headOf(bytes.toString('latin1', 0, headBytes))
    const body = bytes.subarray(headBytes + HEAD_END.length)
    if (known?.bodyBytes !== body.byteLength) return undefined
    const { status, contentType, headers } = known.head
    // Each member by its name: to spread the head takes 2 µs while a client waits.
    return { status, contentType, headers, body }
  }
}
