import bs58 from 'bs58'

/** Longer than any transaction in either encoding. A bound, because base58 takes quadratic time. */
const TEXT_CHARS_MAX = 8_192
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Encoding of a transaction in JSON. */
export type TransactionEncoding = 'base58' | 'base64'

const encodingOf = (config: unknown): unknown =>
  typeof config === 'object' && config !== null && 'encoding' in config
    ? config.encoding
    : undefined

/**
 * Decodes a transaction by the encoding in the call's config, or else by the upstream's default;
 * `undefined` where the text is not valid.
 */
export const decodeTransaction = (
  text: unknown,
  config: unknown,
  defaultEncoding: TransactionEncoding,
): Uint8Array | undefined => {
  if (typeof text !== 'string' || text === '' || text.length > TEXT_CHARS_MAX) return undefined
  const encoding = encodingOf(config) ?? defaultEncoding
  if (encoding === 'base58') return bs58.decodeUnsafe(text)
  return encoding === 'base64' && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}
