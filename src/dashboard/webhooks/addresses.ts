import { BlockList, isIP } from 'node:net'

/** IPv4 networks that are no public address of one host: IANA's special-purpose registry. */
const SPECIAL_IPV4: readonly (readonly [network: string, bits: number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, and the metadata services of clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // IETF protocols
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // multicast tunnels
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // future use, broadcast
]

/** Networks of the global unicast range that lead elsewhere, or to an IPv4 address inside. */
const SPECIAL_IPV6: readonly (readonly [network: string, bits: number])[] = [
  ['2001::', 23], // IETF protocols, Teredo
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
]

const special = new BlockList()
for (const [network, bits] of SPECIAL_IPV4) special.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of SPECIAL_IPV6) special.addSubnet(network, bits, 'ipv6')

/** Everything else, such as ::1, fc00::/7, fe80::/10, ::ffff:0:0/96 and 64:ff9b::/96, is not. */
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether a host can have the address on the public internet. */
export const isPublicAddress = (address: string): boolean => {
  // A zone leads to a network of this machine.
  if (address.includes('%')) return false
  if (isIP(address) === 4) return !special.check(address, 'ipv4')
  if (isIP(address) !== 6) return false
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** Whether the address is this machine's own. */
export const isLoopback = (address: string): boolean =>
  isIP(address) === 4 ? loopback.check(address, 'ipv4') : isIP(address) === 6 && address === '::1'
