import bs58 from 'bs58'
import { invalidParam, quote } from './failure.js'

const TRANSACTION = 'solana_transaction::versioned::VersionedTransaction'
/** One packet, which also bounds base58, and a transaction of version 1. */
const PACKET_BYTES = 1_232
const V1_BYTES = 4_096
/** A packet in base58, and both sizes in base64. */
const BASE58_CHARS_MAX = 1_683
const BASE64_CHARS_MAX = 1_644
const V1_BASE64_CHARS_MAX = 5_464
/** The first characters of base64 whose first byte is 129 or more: version 1. */
const V1_BASE64_START = 'gQ'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const boundsOf = (text: string, encoding: 'base58' | 'base64') => {
  if (encoding === 'base58') return { charsMax: BASE58_CHARS_MAX, bytesMax: PACKET_BYTES }
  const isV1 = text.length >= 2 && text.slice(0, 2) >= V1_BASE64_START
  return isV1
    ? { charsMax: V1_BASE64_CHARS_MAX, bytesMax: V1_BYTES }
    : { charsMax: BASE64_CHARS_MAX, bytesMax: PACKET_BYTES }
}

const decode = (text: string, encoding: 'base58' | 'base64'): Uint8Array | undefined => {
  if (encoding === 'base58') return bs58.decodeUnsafe(text)
  return BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}

/**
 * The bytes of a transaction that is sent or simulated, with the bounds and texts of Agave 4.4: the
 * text is measured before it is decoded, and only base64 may be longer than a packet.
 */
export const decodeSent = (text: unknown, encoding: unknown): Uint8Array => {
  if (encoding !== 'base58' && encoding !== 'base64')
    throw invalidParam(
      `unsupported encoding: ${quote(encoding)}. Supported encodings: base58, base64`,
    )
  if (typeof text !== 'string') throw invalidParam('Invalid params: expected a string')
  const { charsMax, bytesMax } = boundsOf(text, encoding)
  if (text.length > charsMax)
    throw invalidParam(
      `${encoding} encoded ${TRANSACTION} too large: ${text.length} bytes (max: encoded/raw ${charsMax}/${bytesMax})`,
    )
  const bytes = decode(text, encoding)
  if (bytes === undefined) throw invalidParam(`invalid ${encoding} encoding`)
  if (bytes.length > bytesMax)
    throw invalidParam(
      `decoded ${TRANSACTION} too large: ${bytes.length} bytes (max: ${bytesMax} bytes)`,
    )
  return bytes
}
