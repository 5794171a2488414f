import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isLoopback, isPublicAddress } from './addresses.js'
import type { Options } from './options.js'
import { addressOf, isLocalhost } from './target-url.js'

/** An address that a connection may be made to. */
export type CheckedAddress = { readonly address: string; readonly family: number }

/** Why nothing may be sent, or cannot be, in words for the holder. */
export class TargetError extends Error {
  override readonly name = 'TargetError'
}

/** The addresses of a host, all of which may be connected to. Rejects with a TargetError. */
export type Resolve = (url: URL) => Promise<readonly CheckedAddress[]>

const NO_ANSWER = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ESERVFAIL', 'EREFUSED', 'ECANCELLED'])

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** The addresses of one family; none if the name has none. */
const ask = async (query: Promise<readonly string[]>): Promise<readonly string[] | undefined> => {
  try {
    return await query
  } catch (error) {
    return NO_ANSWER.has(codeOf(error)) ? undefined : []
  }
}

const toChecked = (address: string): CheckedAddress => ({ address, family: isIP(address) })

/**
 * Resolves hosts by name servers only, without the thread pool of Node.js: a slow name server must
 * not delay writes to disk, which use it.
 */
export const createResolve = (
  { resolveMs, allowLoopback }: Pick<Options, 'resolveMs' | 'allowLoopback'>,
  servers?: readonly string[],
): Resolve => {
  const resolver = new Resolver({ timeout: resolveMs, tries: 1 })
  if (servers !== undefined) resolver.setServers(servers)
  const isAllowed = (address: string): boolean =>
    isPublicAddress(address) || (allowLoopback && isLoopback(address))

  const find = async (url: URL): Promise<readonly string[]> => {
    const address = addressOf(url)
    if (address !== undefined) return [address]
    if (isLocalhost(url)) return ['127.0.0.1', '::1']
    const { hostname } = url
    const [ipv4, ipv6] = await Promise.all([
      ask(resolver.resolve4(hostname)),
      ask(resolver.resolve6(hostname)),
    ])
    const found = [...(ipv4 ?? []), ...(ipv6 ?? [])]
    if (found.length > 0) return found
    throw new TargetError(
      ipv4 === undefined || ipv6 === undefined
        ? `the name server did not answer for ${hostname}`
        : `${hostname} has no address`,
    )
  }

  return async url => {
    const found = await find(url)
    // One that is not public is enough: whoever answers so has something else in mind.
    if (!found.every(isAllowed))
      throw new TargetError(
        `${url.hostname} resolves to an address of a private or reserved network`,
      )
    return found.map(toChecked)
  }
}
