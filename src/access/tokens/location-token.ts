import { hash } from 'node:crypto'
import { API_KEY_PREFIX, TOKEN_PREFIX } from '../../shared/secret.js'

/** Returns cryptographically secure random bytes. */
export type RandomBytes = (byteCount: number) => Uint8Array

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/**
 * The largest multiple of 62 in a byte. Bytes from here on are discarded, because they would make
 * some characters more frequent.
 */
const UNBIASED_BYTES = 248

/** 190 bits, over the 128 that ASVS 7.2.3 asks for. */
const RANDOM_CHARS = 32
/** 62^6 is over 2^32, so six hold any CRC-32. */
const CHECK_CHARS = 6
const BODY_CHARS = TOKEN_PREFIX.length + RANDOM_CHARS
/** Length of a location token. */
export const TOKEN_CHARS = BODY_CHARS + CHECK_CHARS

/** Uniformly random base62 text. */
export const randomBase62 = (charCount: number, randomBytes: RandomBytes): string => {
  let text = ''
  while (text.length < charCount)
    for (const byte of randomBytes(charCount - text.length + 8))
      if (byte < UNBIASED_BYTES && text.length < charCount) text += ALPHABET.charAt(byte % 62)
  return text
}

/** Table of CRC-32 (polynomial of IEEE 802.3, reflected), as in zlib. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

// Faster than zlib.crc32 for a text this short, where half of the time is the call into C++.
const checkOf = (text: string): number => {
  let crc = 0xffffffff
  for (let index = 0; index < BODY_CHARS; index++)
    crc = (CRC_TABLE[(crc ^ text.charCodeAt(index)) & 0xff] ?? 0) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

const formatCheck = (crc: number): string => {
  let text = ''
  for (let rest = crc; text.length < CHECK_CHARS; rest = Math.floor(rest / 62))
    text = ALPHABET.charAt(rest % 62) + text
  return text
}

/**
 * A new location token: `slt_`, 32 random base62 characters, and the CRC-32 of these in 6
 * characters. An API key has the same form with its own prefix, which is as long.
 */
export const createToken = (
  randomBytes: RandomBytes,
  prefix: typeof TOKEN_PREFIX | typeof API_KEY_PREFIX = TOKEN_PREFIX,
): string => {
  const body = prefix + randomBase62(RANDOM_CHARS, randomBytes)
  return body + formatCheck(checkOf(body))
}

// linear: of a fixed length
const WELL_FORMED = new RegExp(`^${TOKEN_PREFIX}[0-9A-Za-z]{${RANDOM_CHARS + CHECK_CHARS}}$`)
// linear: of a fixed length
const WELL_FORMED_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${RANDOM_CHARS + CHECK_CHARS}}$`)

const isShaped = (text: string, form: RegExp): boolean =>
  text.length === TOKEN_CHARS && form.test(text) && text.endsWith(formatCheck(checkOf(text)))

/** Whether the text has the form of a token. The token need not exist. */
export const isTokenShaped = (text: string): boolean => isShaped(text, WELL_FORMED)

/** Whether the text has the form of an API key. The key need not exist. */
export const isApiKeyShaped = (text: string): boolean => isShaped(text, WELL_FORMED_KEY)

/**
 * The stored digest of a token. The token has 190 random bits, so a plain hash is safe against
 * guessing.
 */
export const digestToken = (text: string): Buffer => hash('sha256', text, 'buffer')
