/** Encodings of account data, by the addon's numbers. */
export const ENCODINGS = { base64: 0, base58: 1, 'base64+zstd': 2, jsonParsed: 3 } as const
export type Encoding = keyof typeof ENCODINGS

/** Part of an account's data; `undefined` is the whole. */
export type DataSlice = { readonly offset: number; readonly length: number }
