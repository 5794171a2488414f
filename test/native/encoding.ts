import assert from 'node:assert/strict'
import bs58 from 'bs58'
import fc from 'fast-check'
import t from 'tap'
import * as addon from '#native'

const decode58 = (text: string): Uint8Array | undefined => {
  try {
    return bs58.decode(text)
  } catch {
    return undefined
  }
}
/** A short reference decoder: the bytes, or the name of the failure. */
const pubkeyOf = (text: string): Uint8Array | string => {
  if (Buffer.byteLength(text) > 44) return 'pubkeySize'
  const bytes = decode58(text)
  return bytes === undefined ? 'pubkeyDecode' : bytes.length === 32 ? bytes : 'pubkeySize'
}
const BASE64 = /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/
const decode64 = (text: string): Uint8Array | undefined => {
  if (text.includes('_') || !BASE64.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  // Unused bits must be zero.
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
}
const memcmpOf = (text: string, encoding: 'base58' | 'base64'): Uint8Array | string => {
  // The longest encoding of 128 bytes.
  if (Buffer.byteLength(text) > (encoding === 'base58' ? 175 : 172)) return 'memcmpTooLarge'
  const bytes = encoding === 'base58' ? decode58(text) : decode64(text)
  if (bytes === undefined) return 'memcmpBytes'
  return bytes.length > 128 ? 'memcmpTooLarge' : bytes
}
const outcomeOf = (run: () => Uint8Array): Uint8Array | string => {
  try {
    return new Uint8Array(run())
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'no code'
  }
}

const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const anyBytes = (maxLength: number) =>
  fc.oneof(
    fc.uint8Array({ maxLength }),
    fc
      .tuple(fc.nat(40), fc.uint8Array({ maxLength: maxLength - 40 }))
      .map(([zeros, rest]) => Uint8Array.from([...new Uint8Array(zeros), ...rest])),
  )
const corrupt = (texts: fc.Arbitrary<string>) =>
  fc
    .tuple(texts, fc.nat(200), fc.constantFrom('0', 'O', ' ', '=', '_', '-', 'é', '1', 'z', ''))
    .map(([text, at, extra]) => text.slice(0, at) + extra + text.slice(at + 1))
const any58 = fc.oneof(
  anyBytes(140).map(bytes => bs58.encode(bytes)),
  fc.uint8Array({ minLength: 31, maxLength: 33 }).map(bytes => bs58.encode(bytes)),
  fc.string({ unit: fc.constantFrom(...DIGITS), maxLength: 180 }),
  fc.string({ unit: fc.constantFrom(...DIGITS), minLength: 42, maxLength: 45 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
)
const any64 = fc.oneof(
  anyBytes(132).map(bytes => Buffer.from(bytes).toString('base64')),
  anyBytes(132).map(bytes => Buffer.from(bytes).toString('base64url')),
  fc.base64String({ maxLength: 180 }),
  fc.string({ unit: fc.constantFrom('A', 'B', 'w', '/', '+', '='), maxLength: 12 }),
)
const RUNS = { numRuns: 3_000 }

const texts58 = fc.oneof(any58, corrupt(any58))
const texts64 = fc.oneof(any64, corrupt(any64))

t.test('addresses decode and encode like a short reference', async t => {
  const check = (text: string): void =>
    assert.deepEqual(
      outcomeOf(() => addon.decodePubkey(text)),
      pubkeyOf(text),
    )
  fc.assert(fc.property(texts58, check), RUNS)
  const checkAll = (texts: string[]): void => {
    const all = texts.map(pubkeyOf)
    const bad = all.find(answer => typeof answer === 'string')
    const bytes = Buffer.concat(all.filter(answer => typeof answer !== 'string'))
    const expected = bad ?? new Uint8Array(bytes)
    assert.deepEqual(
      outcomeOf(() => addon.decodePubkeys(texts)),
      expected,
    )
  }
  const anyAddress = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(key => bs58.encode(key))
  const mostlyRight = fc.oneof({ weight: 9, arbitrary: anyAddress }, texts58)
  fc.assert(fc.property(fc.array(mostlyRight, { maxLength: 20 }), checkAll), RUNS)
  const checkEncoded = (bytes: Uint8Array): void => {
    assert.equal(addon.encodePubkey(bytes), bs58.encode(bytes))
    assert.deepEqual(new Uint8Array(addon.decodePubkey(addon.encodePubkey(bytes))), bytes)
  }
  fc.assert(fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), checkEncoded), RUNS)
  t.pass(`${3 * RUNS.numRuns} cases`)
})

t.test('bytes to compare decode like a short reference', async t => {
  for (const [encoding, texts] of [
    ['base58', texts58],
    ['base64', texts64],
  ] as const) {
    const check = (text: string): void =>
      assert.deepEqual(
        outcomeOf(() => addon.decodeMemcmp(text, encoding)),
        memcmpOf(text, encoding),
      )
    fc.assert(fc.property(texts, check), RUNS)
    t.pass(`${RUNS.numRuns} cases of ${encoding}`)
  }
})
