import { createHash } from 'node:crypto'
import { ADDRESSES } from './addresses.js'

/** The prime of the field of curve 25519. */
const PRIME = 2n ** 255n - 19n

/** 121665 / 121666, negated: the d of the curve equation −x² + y² = 1 + d·x²·y². */
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

/**
 * The Legendre symbol of a number that the prime does not divide, by quadratic reciprocity: a
 * quarter of the time of Euler's criterion.
 */
const isSquare = (of: bigint): boolean => {
  let [a, n, isOne] = [of % PRIME, PRIME, true]
  while (a !== 0n) {
    for (; (a & 1n) === 0n; a >>= 1n) {
      const rest = n & 7n
      if (rest === 3n || rest === 5n) isOne = !isOne
    }
    if ((a & n & 3n) === 3n) isOne = !isOne
    ;[a, n] = [n % a, a]
  }
  return isOne
}

/** True if 32 bytes are the compressed form of a point, which can have a private key. */
export const isOnCurve = (bytes: Uint8Array): boolean => {
  const littleEndian = Buffer.from(bytes.toReversed())
  const y = BigInt(`0x${littleEndian.toString('hex')}`) & (2n ** 255n - 1n)
  const ySquare = (y * y) % PRIME
  const top = (ySquare + PRIME - 1n) % PRIME
  const bottom = (D * ySquare + 1n) % PRIME
  // x² = top / bottom has a solution where it is 0 or a square. Times bottom², which is a
  // square and never 0, that is top · bottom.
  const product = (top * bottom) % PRIME
  return product === 0n || isSquare(product)
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
