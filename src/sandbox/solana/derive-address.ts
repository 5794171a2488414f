import { createHash } from 'node:crypto'
import { ADDRESSES } from './addresses.js'

/** The prime of the field of curve 25519. */
const PRIME = 2n ** 255n - 19n

const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n
  let square = base % PRIME
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % PRIME
    square = (square * square) % PRIME
  }
  return result
}

/** The d of the curve equation −x² + y² = 1 + d·x²·y². */
const D = ((PRIME - 121665n) * power(121666n, PRIME - 2n)) % PRIME

/** True if 32 bytes are the compressed form of a point, which can have a private key. */
export const isOnCurve = (bytes: Uint8Array): boolean => {
  const littleEndian = Buffer.from(bytes.toReversed())
  const y = BigInt(`0x${littleEndian.toString('hex')}`) & (2n ** 255n - 1n)
  const ySquare = (y * y) % PRIME
  const top = (ySquare + PRIME - 1n) % PRIME
  const bottom = (D * ySquare + 1n) % PRIME
  // x² = top / bottom has a solution where it is 0 or a square (Euler). Times bottom², which is a
  // square and never 0, that is top · bottom.
  const product = (top * bottom) % PRIME
  return product === 0n || power(product, (PRIME - 1n) / 2n) === 1n
}

/** A program derived address: the one with the highest bump that is off the curve. */
export const deriveAddress = (seeds: readonly Uint8Array[], programId: Uint8Array): Uint8Array => {
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256')
    for (const seed of seeds) hash.update(seed)
    const address = hash
      .update(Uint8Array.of(bump))
      .update(programId)
      .update('ProgramDerivedAddress')
      .digest()
    if (!isOnCurve(address)) return address
  }
  throw new Error('no bump gives an address off the curve')
}

/** The associated token account of a wallet and a mint. */
export const deriveTokenAccount = (
  wallet: Uint8Array,
  mint: Uint8Array,
  tokenProgram: Uint8Array,
): Uint8Array => deriveAddress([wallet, tokenProgram, mint], ADDRESSES.associatedToken)
