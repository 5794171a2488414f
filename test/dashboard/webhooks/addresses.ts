import fc from 'fast-check'
import t from 'tap'
import { isLoopback, isPublicAddress } from '../../../src/dashboard/webhooks/addresses.js'

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2000::1',
  '2001:200::1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80b::200e',
  '3ffe:ffff::1',
]
const OTHER = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.0',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.255',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:8.8.8.8',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::8.8.8.8',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:0:5ef5:79fd::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  '2606:4700::1%eth0',
  'fec0::1',
  'ff02::1',
  '',
  'localhost',
  '8.8.8',
  '8.8.8.8.',
  '08.8.8.8',
  '0x7f.0.0.1',
  '[::1]',
]

t.test('addresses that may be connected to', async t => {
  for (const address of PUBLIC) t.equal(isPublicAddress(address), true, address)
  for (const address of OTHER) t.equal(isPublicAddress(address), false, `not ${address}`)
})

t.test('no spelling of a private IPv4 address within IPv6 is public', async t => {
  const byte = fc.integer({ min: 0, max: 255 })
  const isHidden = fc.property(
    fc.tuple(byte, byte, byte, byte),
    fc.boolean(),
    ([a, b, c, d], isHex) => {
      const hex = [a * 256 + b, c * 256 + d].map(group => group.toString(16)).join(':')
      const tail = isHex ? hex : `${a}.${b}.${c}.${d}`
      for (const prefix of ['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:FF9B::'])
        if (isPublicAddress(`${prefix}${tail}`)) return false
      return !isPublicAddress(`2002:${hex}::1`)
    },
  )
  t.doesNotThrow(() => fc.assert(isHidden))
})

t.test('an address that is this machine is not public', async t => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), address => {
      const [isOwn, isPublic] = [isLoopback(address), isPublicAddress(address)]
      return !(isOwn && isPublic)
    }),
    { numRuns: 2_000 },
  )
  t.strictSame(
    ['127.0.0.1', '127.9.9.9', '::1', '128.0.0.1', '::2', '::ffff:127.0.0.1', 'x'].map(isLoopback),
    [true, true, true, false, false, false, false],
  )
})
