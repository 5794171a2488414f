import bs58 from 'bs58'

/**
 * Longer than any transaction in either encoding: base58 takes time by the square of its length.
 */
const TEXT_CHARS_MAX = 8_192
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** How a transaction is written in JSON. */
export type TransactionEncoding = 'base58' | 'base64'

const encodingOf = (config: unknown): unknown =>
  typeof config === 'object' && config !== null && 'encoding' in config
    ? config.encoding
    : undefined

/**
 * Bytes of a transaction in the encoding that the call's config names, or else in the upstream's
 * own; `undefined` where the text is not in it.
 */
export const decodeTransaction = (
  text: unknown,
  config: unknown,
  ownEncoding: TransactionEncoding,
): Uint8Array | undefined => {
  if (typeof text !== 'string' || text === '' || text.length > TEXT_CHARS_MAX) return undefined
  const encoding = encodingOf(config) ?? ownEncoding
  if (encoding === 'base58') return bs58.decodeUnsafe(text)
  return encoding === 'base64' && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}
