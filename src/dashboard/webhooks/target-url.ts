import { isIP } from 'node:net'
import { isLoopback, isPublicAddress } from './addresses.js'
import type { Options } from './options.js'

type UrlOptions = Pick<Options, 'urlCharsMax' | 'allowLoopback'>

/** A name that means this machine itself wherever it is resolved (RFC 6761). */
const LOCALHOST = /(^|\.)localhost\.?$/

/** The address in place of a name in a URL, without brackets; undefined of a name. */
export const addressOf = ({ hostname }: URL): string | undefined => {
  const text = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(text) === 0 ? undefined : text
}

export const isLocalhost = ({ hostname }: URL): boolean => LOCALHOST.test(hostname)

const parse = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

const problemOfHost = (url: URL, { allowLoopback }: UrlOptions): string | undefined => {
  const address = addressOf(url)
  const isOwn = isLocalhost(url) || (address !== undefined && isLoopback(address))
  if (isOwn && allowLoopback) return undefined
  if (url.protocol !== 'https:') return 'must begin with https://'
  if (isOwn || (address !== undefined && !isPublicAddress(address)))
    return 'must have a public address: this one is of a private or reserved network'
  return undefined
}

const problemOf = (url: URL, options: UrlOptions): string | undefined => {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https://'
  if (url.username !== '' || url.password !== '')
    return 'must have no user name and password; put a secret into the path'
  if (url.hash !== '') return 'must have no fragment (#)'
  return problemOfHost(url, options)
}

/**
 * The URL of a webhook, or what is wrong with the text. The addresses of a name are checked when
 * something is sent.
 */
export const parseTargetUrl = (
  text: string,
  options: UrlOptions,
): { readonly url: URL } | { readonly problem: string } => {
  if (text.length > options.urlCharsMax)
    return { problem: `must be at most ${options.urlCharsMax} characters` }
  const url = parse(text.trim())
  if (url === undefined) return { problem: 'must be a URL, such as https://hooks.example.com/a1b2' }
  const problem = problemOf(url, options)
  return problem === undefined ? { url } : { problem }
}
