import * as addon from '#native'
import { callNative } from './errors.js'

/** Decodes a base58 address. Throws `pubkeyDecode` or `pubkeySize`. */
export const decodePubkey = (text: string): Uint8Array => callNative(() => addon.decodePubkey(text))

/** Decodes base58 addresses, 32 bytes each. Throws at the first invalid one. */
export const decodePubkeys = (texts: string[]): Uint8Array =>
  callNative(() => addon.decodePubkeys(texts))

/** Encodes 32 bytes as base58. */
export const encodePubkey = (pubkey: Uint8Array): string =>
  callNative(() => addon.encodePubkey(pubkey))

/** Decodes `memcmp.bytes`. Throws `memcmpBytes`. */
export const decodeMemcmp = (text: string, encoding: 'base58' | 'base64'): Uint8Array =>
  callNative(() => addon.decodeMemcmp(text, encoding))
