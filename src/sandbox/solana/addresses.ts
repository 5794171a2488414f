import bs58 from 'bs58'

/** Well-known addresses, as 32 bytes. */
export const ADDRESSES = {
  system: bs58.decode('11111111111111111111111111111111'),
  token: bs58.decode('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'),
  token2022: bs58.decode('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'),
  associatedToken: bs58.decode('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'),
  lookupTable: bs58.decode('AddressLookupTab1e1111111111111111111111111'),
  computeBudget: bs58.decode('ComputeBudget111111111111111111111111111111'),
  nativeMint: bs58.decode('So11111111111111111111111111111111111111112'),
  clock: bs58.decode('SysvarC1ock11111111111111111111111111111111'),
  slotHashes: bs58.decode('SysvarS1otHashes111111111111111111111111111'),
  recentBlockhashes: bs58.decode('SysvarRecentB1ockHashes11111111111111111111'),
  slotHistory: bs58.decode('SysvarS1otHistory11111111111111111111111111'),
  rent: bs58.decode('SysvarRent111111111111111111111111111111111'),
  alpenglowFeature: bs58.decode('A1pengvuM6JEcyNuTnMqepBKhwHE3N6PmUrdATGawhJS'),
  vote: bs58.decode('Vote111111111111111111111111111111111111111'),
  sysvar: bs58.decode('Sysvar1111111111111111111111111111111111111'),
  nativeLoader: bs58.decode('NativeLoader1111111111111111111111111111111'),
  loader1: bs58.decode('BPFLoader1111111111111111111111111111111111'),
  loader2: bs58.decode('BPFLoader2111111111111111111111111111111111'),
  upgradeableLoader: bs58.decode('BPFLoaderUpgradeab1e11111111111111111111111'),
  feature: bs58.decode('Feature111111111111111111111111111111111111'),
} as const

/** Bytes as a key of a Map: one character per byte. */
export const toMapKey = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

/** The bytes of such a key. */
export const fromMapKey = (key: string): Uint8Array => Buffer.from(key, 'latin1')

/** True if two byte strings are the same. */
export const isSameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0
