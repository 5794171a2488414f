import { isIP } from 'node:net'
import * as v from 'valibot'
import { described, leaf, text } from './options-schema.js'
import { isPubkey } from './pubkey.js'

/** The kinds of process of the service that can need a secret. */
export type SecretOwner = 'edge' | 'sender' | 'indexer' | 'geyser' | 'control'

/** Where an option contains its secret: all of it, a URL after the host, or the query of a path. */
export type SecretPart = 'all' | 'url' | 'query'

/** An option that is, or may contain, a secret, and the processes that receive it. */
export type SecretOption = {
  readonly part: SecretPart
  readonly owners: readonly [SecretOwner, ...SecretOwner[]]
}

/** Marks an option that is or may contain a secret. `toPrintable` removes what `part` says. */
export const secret = <S extends v.GenericSchema>(
  schema: S,
  part: SecretPart,
  ...owners: SecretOption['owners']
) => v.pipe(schema, v.metadata({ secret: { part, owners } satisfies SecretOption }))

const isText = (value: unknown): value is string => typeof value === 'string'

/** Also used as a folder name, so characters with a meaning in paths are excluded. */
export const id = leaf<string>(
  value => isText(value) && /^[a-z0-9][a-z0-9-]{0,31}$/.test(value),
  'up to 32 of a–z, 0–9 and -, not beginning with -',
)
/** Address of an account. */
export const pubkey = leaf<string>(value => isText(value) && isPubkey(value), 'a base58 public key')
/** URL that may contain a secret. */
export const endpoint = leaf<string>(
  value => isText(value) && /^https?:\/\//.test(value) && URL.canParse(value),
  'an http or https URL',
)
/** The place of a signature in the URL of an explorer. */
const PLACEHOLDER = '{signature}'

const isExplorerUrl = (value: string): boolean => {
  const parts = value.split(PLACEHOLDER)
  const [start = ''] = parts
  // The host is complete before the placeholder.
  return parts.length === 2 && /^https:\/\/[^/?#@]+\//.test(start) && URL.canParse(start)
}

/** URL of an explorer of transactions. */
export const explorerUrl = leaf<string>(
  value => isText(value) && isExplorerUrl(value),
  `an https URL with ${PLACEHOLDER} once, after the host`,
)
/**
 * Shortest prefixes of a range: 10.0.0.0/8 is the widest private one, fc00::/7 the widest of IPv6.
 * A wider range would trust clients. Mapped IPv4 addresses have 96 bits before them.
 */
const prefixOf = (address: string): { readonly least: number; readonly most: number } => {
  if (isIP(address) === 4) return { least: 8, most: 32 }
  return { least: /^0*:/.test(address) ? 104 : 7, most: 128 }
}

const isPeers = (value: string): boolean => {
  const [address = '', bits, ...more] = value.split('/')
  if (isIP(address) === 0 || more.length > 0) return false
  const { least, most } = prefixOf(address)
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= least && Number(bits) <= most)
  )
}
/** An address, or a range of addresses. */
export const peers = leaf<string>(
  value => isText(value) && isPeers(value),
  'an IP address, or address/bits of at least 8 bits (7 for IPv6)',
)
/** Address to listen on. */
export const host = text('an address or a host name')

/** What it means that there is nothing at a path: a fault, a warning, or that it will be made. */
export type WhereMissing = 'fault' | 'warning' | 'made'

/**
 * Marks a path, which is relative to the folder of the configuration file. An empty one is a
 * default in `dataDir`.
 */
export const filePath = <S extends v.GenericSchema>(schema: S, whereMissing: WhereMissing) =>
  v.pipe(schema, v.metadata({ whereMissing }))

/** PEM of a private certificate authority. */
export const caFile = filePath(text('a file'), 'fault')

/** The option `<name>File` of a secret: a file whose content is the secret. */
export const secretFile = (name: string) =>
  described(
    // Reading it has found out whether it is there.
    v.optional(filePath(text('a file'), 'made')),
    `File with it, in place of \`${name}\`; white space at its end is ignored.`,
  )

const isBase = (value: string): boolean =>
  /^https?:\/\//.test(value) && URL.canParse(value) && !/[?#@\s]/.test(value)
/** URL without query and user, because it is printed: secrets belong in `credential`. */
export const base = leaf<string>(
  value => isText(value) && isBase(value),
  'an http or https URL without user, query and fragment',
)
const isLaneUrl = (value: string): boolean => {
  if (!URL.canParse(value) || /[#@\s]/.test(value)) return false
  if (/^https?:\/\//.test(value)) return true
  return /^quic:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/.test(value)
}
/** URL of a lane, which may contain a secret. */
export const laneUrl = leaf<string>(
  value => isText(value) && isLaneUrl(value),
  'an http or https URL without user and fragment, or quic://host:port',
)
/** Name of a header or a query parameter. */
export const headerName = leaf<string>(
  value => isText(value) && /^[A-Za-z0-9-]+$/.test(value),
  'a name of letters, digits and -',
)
/** Characters that are valid in a header line. */
export const credential = leaf<string>(
  value => isText(value) && /^[!-~]+$/.test(value),
  'a text of visible ASCII characters',
)
/** Credential of a lane, which may be a certificate and its key. */
export const laneCredential = leaf<string>(
  value =>
    isText(value) &&
    (/^[!-~]+$/.test(value) || /^-----BEGIN [ -~]+-----\r?\n[ -~\r\n]+$/.test(value)),
  'a text of visible ASCII characters, or PEM',
)
/** Path of a URL. */
const path = leaf<string>(
  value => isText(value) && /^\/[!-~]*$/.test(value),
  'a path that begins with /',
)
/** Path of a URL of submissions to which a query may add a key. */
export const secretPath = secret(path, 'query', 'sender')
/** Path of a URL, or empty. */
export const pathOrEmpty = leaf<string>(
  value => value === '' || (isText(value) && /^\/[!-~]*$/.test(value)),
  'a path that begins with /, or empty',
)
/** Name of a JSON-RPC method. */
export const methodName = leaf<string>(
  value => isText(value) && /^[A-Za-z][\w.]{0,63}$/.test(value),
  'the name of a method',
)

const isOrigin = (value: string): boolean =>
  /^https?:\/\//.test(value) && URL.canParse(value) && new URL(value).origin === value
/** Origin without path, query and user, because the token follows it. */
export const origin = leaf<string>(
  value => isText(value) && isOrigin(value),
  'https://host or http://host:port, with nothing after it',
)
const isLoopback = (host: string): boolean => /^(127(\.\d+){3}|localhost|\[::1\])$/.test(host)
const isPrivate = (value: string): boolean => {
  if (!URL.canParse(value)) return false
  const { protocol, hostname } = new URL(value)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}
/** Origin for secrets and cookies: https, or http to loopback. */
export const privateOrigin = leaf<string>(
  value => isText(value) && isPrivate(value) && isOrigin(value),
  'https://host, or http://host:port of loopback, with nothing after it',
)
/** URL for secrets with a path. */
export const privateBase = leaf<string>(
  value => isText(value) && isBase(value) && isPrivate(value),
  'an https URL, or http of loopback, without user, query and fragment',
)
