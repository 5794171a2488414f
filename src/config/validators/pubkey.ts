const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const DIGITS: ReadonlyMap<string, bigint> = new Map(
  Array.from(ALPHABET, (digit, value) => [digit, BigInt(value)]),
)
const PUBKEY_BYTES = 32
/** Maximum length of 32 bytes in base58. */
const CHARS_MAX = 44

/**
 * True for the base58 text of 32 bytes. Only for configurations: the native addon parses requests.
 */
export const isPubkey = (text: string): boolean => {
  if (text.length > CHARS_MAX) return false
  let value = 0n
  for (const char of text) {
    const digit = DIGITS.get(char)
    if (digit === undefined) return false
    value = value * 58n + digit
  }
  // Each leading 1 is a zero byte.
  const zeros = /^1*/.exec(text)?.[0].length ?? 0
  const bytes = value === 0n ? 0 : Math.ceil(value.toString(16).length / 2)
  return zeros + bytes === PUBKEY_BYTES
}
