import fc from 'fast-check'
import t from 'tap'
import { parseRestriction } from '../../../src/access/tokens/restriction.js'
import { RpcError } from '../../../src/shared/errors.js'

const answerOf = (text: string): string => {
  try {
    return parseRestriction(text) ?? 'blank'
  } catch (error) {
    return error instanceof Error ? error.message.replace('Not one public IPv4 address: ', '') : ''
  }
}

t.test('a restriction is exactly one public IPv4 address', t => {
  const cases: [text: string, answer: string | RegExp][] = [
    ['8.8.8.8', '8.8.8.8'],
    [' 1.1.1.1 ', '1.1.1.1'],
    ['223.255.255.255', '223.255.255.255'],
    ['', 'blank'],
    ['  \t', 'blank'],
    ['proxy.example', /a host name/],
    ['localhost', /a host name/],
    ['1.2.3.4a', /a host name/],
    ['http://8.8.8.8', /a URL/],
    ['https://8.8.8.8:443/x', /a URL/],
    ['8.8.8.8:443', /a port/],
    ['localhost:1', /a port/],
    ['8.8.8.8:', /a port/],
    ['8.8.8.0/24', /CIDR/],
    ['8.8.8.8/32', /CIDR/],
    ['8.8.8.8-8.8.8.9', /a range/],
    ['::1', /IPv6/],
    ['2001:4860:4860::8888', /IPv6/],
    ['[2001:4860:4860::8888]', /IPv6/],
    ['[::1]:80', /IPv6/],
    ['::ffff:8.8.8.8', /IPv6/],
    ['fe80::1%eth0', /IPv6/],
    ['8.8.8.8,8.8.4.4', /a list/],
    ['8.8.8.8, 8.8.4.4', /a list/],
    ['8.8.8.8 8.8.4.4', /a list/],
    ['8.8.8.8;8.8.4.4', /a list/],
    ['08.8.8.8', /leading zero/],
    ['8.8.8.008', /leading zero/],
    ['0010.0.0.1', /leading zero/],
    ['0x8.8.8.8', /hexadecimal/],
    ['8.8.8.0xff', /hexadecimal/],
    ['0x08080808', /hexadecimal/],
    ['8.8.8', /fewer than four/],
    ['8.8', /fewer than four/],
    ['134744072', /fewer than four/],
    ['8.8.8.8.8', /more than four/],
    ['8.8.8.8.', /ends with a dot/],
    ['8..8.8', /an empty part/],
    ['.8.8.8', /an empty part/],
    ['256.8.8.8', /over 255/],
    ['8.8.8.999', /over 255/],
    ['8.8.8.4294967296', /over 255/],
    ['8.8.8.8\u0000', /a sign/],
    ['٨.8.8.8', /a sign/],
    ['8.8.8.-8', /a sign|a range/],
    ['+8.8.8.8', /a sign/],
    ['1e1.8.8.8', /a host name/],
    ['8'.repeat(65), /longer than 64/],
  ]
  for (const [text, answer] of cases)
    if (typeof answer === 'string') t.equal(answerOf(text), answer, JSON.stringify(text))
    else t.match(answerOf(text), answer, JSON.stringify(text))
  t.end()
})

/**
 * First and last address of each special range, and the adjacent addresses outside of it (empty if
 * these are special, too).
 */
const RANGES: readonly [before: string, first: string, last: string, after: string][] = [
  ['', '0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
  ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
  ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
  ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
  ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
  ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
  ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
  ['192.31.195.255', '192.31.196.0', '192.31.196.255', '192.31.197.0'],
  ['192.52.192.255', '192.52.193.0', '192.52.193.255', '192.52.194.0'],
  ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
  ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
  ['192.175.47.255', '192.175.48.0', '192.175.48.255', '192.175.49.0'],
  ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
  ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
  ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
  ['223.255.255.255', '224.0.0.0', '239.255.255.255', ''],
  ['', '240.0.0.0', '255.255.255.255', ''],
]

const numberOf = (address: string): number =>
  address.split('.').reduce((number, part) => number * 256 + Number(part), 0)

t.test('every special range of IANA is refused, with exact bounds', t => {
  for (const [before, first, last, after] of RANGES) {
    for (const address of [first, last]) t.match(answerOf(address), /is reserved for/, address)
    for (const address of [before, after].filter(Boolean)) t.equal(answerOf(address), address)
  }
  t.end()
})

t.test('ten thousand texts: only the edges’ notation of a peer is accepted', t => {
  const part = fc.oneof(
    fc.nat(255).map(String),
    fc.nat(400).map(String),
    fc.string({ maxLength: 3 }),
  )
  const quad = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map(q => q.join('.'))
  const texts = fc.oneof(
    quad,
    fc.array(part, { minLength: 3, maxLength: 5 }).map(parts => parts.join('.')),
    fc.tuple(quad, fc.string({ maxLength: 4 })).map(both => both.join('')),
    fc.ipV6(),
    fc.ipV4Extended(),
    fc.webUrl(),
    fc.domain(),
    fc.string({ unit: 'binary', maxLength: 80 }),
  )
  let acceptedCount = 0
  fc.assert(
    fc.property(texts, text => {
      const trimmed = text.trim()
      const isQuad =
        /^\d+\.\d+\.\d+\.\d+$/.test(trimmed) &&
        trimmed.split('.').every(p => String(Number(p)) === p && Number(p) < 256)
      const number = numberOf(trimmed)
      const isSpecial = RANGES.some(
        ([, first, last]) => number >= numberOf(first) && number <= numberOf(last),
      )
      const expected = trimmed === '' ? undefined : isQuad && !isSpecial ? trimmed : 'notPublicIpv4'
      if (expected === trimmed) acceptedCount++
      try {
        return parseRestriction(text) === expected
      } catch (error) {
        return error instanceof RpcError && error.name === expected
      }
    }),
    { numRuns: 10_000 },
  )
  t.ok(acceptedCount > 500, `${acceptedCount} accepted`)
  t.end()
})
