import { crc32 } from 'node:zlib'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  createToken,
  digestToken,
  isTokenShaped,
  randomBase62,
  TOKEN_CHARS,
} from '../../../src/access/tokens/location-token.js'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const anyToken = fc
  .uint8Array({ minLength: 64, maxLength: 64 })
  .map(seed =>
    createToken(count => Uint8Array.from({ length: count }, (_, i) => (seed[i % 64] ?? 0) % 248)),
  )

t.test('a token is slt_, 32 random characters and the CRC-32 of both', t => {
  const token = createToken(randomBytes)
  t.match(token, /^slt_[0-9A-Za-z]{38}$/)
  t.equal(token.length, TOKEN_CHARS)
  const check = [...token.slice(36)].reduce((sum, char) => sum * 62 + ALPHABET.indexOf(char), 0)
  t.equal(check, crc32(token.slice(0, 36)))
  t.equal(isTokenShaped(token), true)
  t.end()
})

t.test('every single changed character is detected', t => {
  fc.assert(
    fc.property(
      anyToken,
      fc.nat(TOKEN_CHARS - 1),
      fc.constantFrom(...ALPHABET, '_', '-', ' ', 'é', '\0'),
      (token, index, char) => {
        const changed = token.slice(0, index) + char + token.slice(index + 1)
        return isTokenShaped(changed) === (changed === token)
      },
    ),
    { numRuns: 5_000 },
  )
  t.end()
})

t.test('swapped, missing and added characters are detected', t => {
  fc.assert(
    fc.property(anyToken, fc.nat(TOKEN_CHARS - 2), (token, index) => {
      const swapped =
        token.slice(0, index) +
        token.charAt(index + 1) +
        token.charAt(index) +
        token.slice(index + 2)
      const shorter = token.slice(0, index) + token.slice(index + 1)
      const longer = `${token.slice(0, index)}0${token.slice(index)}`
      return (
        isTokenShaped(swapped) === (swapped === token) &&
        !isTokenShaped(shorter) &&
        !isTokenShaped(longer)
      )
    }),
  )
  t.equal(isTokenShaped(''), false)
  t.equal(isTokenShaped(`${createToken(randomBytes)}\n`), false)
  t.end()
})

t.test('characters are evenly distributed at every position', t => {
  const count = 62_000
  const text = randomBase62(count, randomBytes)
  t.equal(text.length, count)
  // Chi-square with 61 degrees of freedom exceeds 130 once in a million runs. A byte modulo 62
  // would give the first eight characters 5/4 of the frequency of the rest, which exceeds 600.
  let chiSquare = 0
  for (const char of ALPHABET) {
    const seen = text.split(char).length - 1
    chiSquare += (seen - 1_000) ** 2 / 1_000
  }
  t.ok(chiSquare < 130, `chi-square ${chiSquare}`)
  t.end()
})

t.test('bytes that would bias the alphabet are discarded', t => {
  const bytes = [248, 249, 255, 247, 0, 61, 62, 255, 1, 2, 3, 4, 5, 6, 7, 8]
  t.equal(
    randomBase62(4, count => Uint8Array.from(bytes.slice(0, count))),
    'z0z0',
  )
  t.end()
})

t.test('the digest is SHA-256', t => {
  const hex = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  t.equal(digestToken('abc').toString('hex'), hex)
  t.end()
})
