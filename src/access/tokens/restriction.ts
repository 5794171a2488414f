import ipaddr from 'ipaddr.js'
import { RpcError } from '../../shared/errors.js'

type Range = readonly [range: string, use: string]

/**
 * IPv4 ranges that are no client's public address: IANA's Special-Purpose Address Registry, and
 * multicast. Two anycast addresses inside 192.0.0.0/24 are routable, but never a source address.
 */
const SPECIAL: readonly Range[] = [
  ['0.0.0.0/8', '"this network"'],
  ['10.0.0.0/8', 'a private network'],
  ['100.64.0.0/10', "a provider's own network (carrier-grade NAT)"],
  ['127.0.0.0/8', 'this machine itself (loopback)'],
  ['169.254.0.0/16', 'a link-local network'],
  ['172.16.0.0/12', 'a private network'],
  ['192.0.0.0/24', 'IETF protocols'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'AS112 name servers'],
  ['192.52.193.0/24', 'automatic multicast tunnels'],
  ['192.88.99.0/24', '6to4 relays'],
  ['192.168.0.0/16', 'a private network'],
  ['192.175.48.0/24', 'AS112 name servers'],
  ['198.18.0.0/15', 'benchmarks'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'future use and broadcast'],
]
const RANGES = SPECIAL.map(([range, use]) => ({ use, cidr: ipaddr.IPv4.parseCIDR(range) }))

/** Longer texts are rejected without analysis. */
const TEXT_CHARS_MAX = 64

const DECIMAL = /^\d+$/
const QUAD = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/

/** The address in a text like `[2001:db8::1]:443`. */
const withoutBrackets = (text: string): string =>
  text.startsWith('[') ? text.slice(1).replace(/\](?::\d+)?$/, '') : text

/** Why a text is not four decimal numbers; the first match is reported. */
const MISTAKES: readonly [is: (text: string) => boolean, problem: string][] = [
  [text => text.length > TEXT_CHARS_MAX, `it is longer than ${TEXT_CHARS_MAX} characters`],
  [text => text.includes('://'), 'it is a URL; only the address is wanted'],
  [text => /[,;]|\d\s+\S/.test(text), 'it is a list; only one address can be set'],
  [text => text.includes('/'), 'it is a range (CIDR); only one address can be set'],
  [text => ipaddr.IPv6.isValid(withoutBrackets(text)), 'it is an IPv6 address'],
  [text => /^[^:]+:\d*$/.test(text), 'it has a port; only the address is wanted'],
  [text => text.split(':').length > 2, 'it looks like an IPv6 address'],
  [text => /^0x|\.0x/i.test(text), 'it has a hexadecimal part; write decimal numbers'],
  [text => /\s|[^\x21-\x7e]/.test(text), 'it has a space or a sign that no address has'],
  [text => /^[\d.]+-[\d.]+$/.test(text), 'it is a range; only one address can be set'],
  [text => /[a-z]/i.test(text), 'it is a host name; write its address'],
  [text => !/^[\d.]+$/.test(text), 'it has a sign that no address has'],
  [
    text => text.split('.').some(part => /^0\d/.test(part)),
    'it has a part with a leading zero, which some read as octal',
  ],
  [text => text.split('.').length < 4, 'it has fewer than four parts'],
  [text => /^[\d.]+\.$/.test(text), 'it ends with a dot; write the address without it'],
  [text => text.split('.').length > 4, 'it has more than four parts'],
  [text => !text.split('.').every(part => DECIMAL.test(part)), 'it has an empty part'],
]

const problemOf = (text: string): string | undefined => {
  if (!QUAD.test(text)) return MISTAKES.find(([is]) => is(text))?.[1] ?? 'it has a part over 255'
  if (text.split('.').some(part => Number(part) > 255)) return 'it has a part over 255'
  const address = ipaddr.IPv4.parse(text)
  const special = RANGES.find(({ cidr }) => address.match(cidr))
  return special === undefined ? undefined : `this address is reserved for ${special.use}`
}

/**
 * The public IPv4 address in a text, in the form that edges compare; undefined if the text is
 * blank. Accepts exactly globally routable dotted quads; for anything else throws an RpcError that
 * says what is wrong.
 */
export const parseRestriction = (text: string): string | undefined => {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const problem = problemOf(trimmed)
  if (problem !== undefined) throw new RpcError('notPublicIpv4', { problem })
  return trimmed
}
