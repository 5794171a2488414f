import { BlockList, isIP, isIPv4 } from 'node:net'

const mappedPrefix = (bytes: Uint8Array): boolean => {
  for (let index = 0; index < 10; index++) if (bytes[index] !== 0) return false
  return bytes[10] === 0xff && bytes[11] === 0xff
}

const dotted = (bytes: Uint8Array, at: number): string =>
  `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`

/**
 * Text of an address of 4 or 16 bytes; empty for any other length. IPv4 received over a
 * dual-stack socket (`::ffff:a.b.c.d`) is the dotted quad: a restriction must not depend on how the
 * socket was opened.
 */
export const formatAddress = (bytes: Uint8Array): string => {
  if (bytes.byteLength === 4) return dotted(bytes, 0)
  if (bytes.byteLength !== 16) return ''
  if (mappedPrefix(bytes)) return dotted(bytes, 12)
  const groups: string[] = []
  for (let at = 0; at < 16; at += 2) {
    groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16))
  }
  return shorten(groups)
}

/**
 * The longest run of at least two zero groups becomes `::`, the first of equal ones (RFC 5952
 * §4.2).
 */
const shorten = (groups: readonly string[]): string => {
  let bestAt = 0
  let bestCount = 1
  for (let at = 0; at < groups.length; at++) {
    let end = at
    while (groups[end] === '0') end++
    if (end - at > bestCount) [bestAt, bestCount] = [at, end - at]
    if (end > at) at = end
  }
  if (bestCount < 2) return groups.join(':')
  return `${groups.slice(0, bestAt).join(':')}::${groups.slice(bestAt + bestCount).join(':')}`
}

const MAPPED_TEXT = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** An address as text, in the form of `formatAddress`; undefined if it is not an address. */
export const parseAddress = (text: string): string | undefined => {
  const trimmed = text.trim()
  const plain = MAPPED_TEXT.exec(trimmed)?.[1] ?? trimmed
  if (isIPv4(plain)) return plain
  if (isIP(plain) !== 6 || plain.includes('%')) return undefined
  // The WHATWG parser accepts every spelling and returns that of RFC 5952.
  return new URL(`http://[${plain}]`).hostname.slice(1, -1)
}

/**
 * An address of X-Forwarded-For: some proxies add the client's port, and then write IPv6 in
 * brackets.
 */
const parseHop = (text: string): string | undefined => {
  const hop = text.trim()
  const found = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop) ?? /^([\d.]+):\d{1,5}$/.exec(hop)
  return parseAddress(found?.[1] ?? hop)
}

/** IPv4 peers in the cache; about 100 bytes each. */
const PEERS_KNOWN_MAX = 8_192

/** Finds the client's address behind trusted proxies. */
export type Proxies = {
  /**
   * The same for the bytes of a TCP peer's address. Called for every request, so IPv4 is cached.
   */
  isTrustedPeer(bytes: Uint8Array): boolean
  /** True for a trusted proxy. */
  isTrusted(address: string): boolean
  /**
   * The client that a chain of proxies names: the last address in it that is no trusted proxy
   * itself.
   */
  clientOf(forwardedFor: string): string | undefined
}

/** Throws one line where an entry is neither an address nor `address/bits`. */
export const createProxies = (trusted: readonly string[]): Proxies => {
  const list = new BlockList()
  for (const entry of trusted) {
    const [text = '', bits] = entry.split('/')
    const address = parseAddress(text)
    const bitsMax = address !== undefined && isIPv4(address) ? 32 : 128
    const isBits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax)
    if (address === undefined || !isBits)
      throw new Error(`trustedProxies: ${entry} is not an address`)
    list.addSubnet(
      address,
      bits === undefined ? bitsMax : Number(bits),
      bitsMax === 32 ? 'ipv4' : 'ipv6',
    )
  }
  const isTrusted = (address: string): boolean =>
    address !== '' && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')

  const known = new Map<number, boolean>()
  const isTrustedPeer = (bytes: Uint8Array): boolean => {
    const at = bytes.byteLength === 4 ? 0 : bytes.byteLength === 16 && mappedPrefix(bytes) ? 12 : -1
    if (at === -1) return isTrusted(formatAddress(bytes))
    let key = 0
    for (let index = at; index < at + 4; index++) key = key * 256 + (bytes[index] ?? 0)
    let answer = known.get(key)
    if (answer === undefined) {
      if (known.size >= PEERS_KNOWN_MAX) known.clear()
      answer = isTrusted(dotted(bytes, at))
      known.set(key, answer)
    }
    return answer
  }

  return {
    isTrusted,
    isTrustedPeer,
    clientOf: forwardedFor => {
      if (forwardedFor === '') return undefined
      const hops = forwardedFor.split(',')
      // From the right: entries left of the last trusted hop were written by the client.
      for (let index = hops.length - 1; index >= 0; index--) {
        const address = parseHop(hops[index] ?? '')
        if (address === undefined) return undefined
        if (index === 0 || !isTrusted(address)) return address
      }
      return undefined
    },
  }
}

/** Finds the client's address from that of a TCP peer as text, and what its proxy says. */
export const createClientOf = (
  trusted: readonly string[],
): ((peer: string, forwardedFor: string) => string) => {
  const proxies = createProxies(trusted)
  return (peer, forwardedFor) => {
    const address = parseAddress(peer) ?? peer
    return proxies.isTrusted(address) ? (proxies.clientOf(forwardedFor) ?? address) : address
  }
}
