import { isIP } from 'node:net'
import * as v from 'valibot'
import { integer, leaf, text } from './options-schema.js'
import { isPubkey } from './pubkey.js'

/** A schema with the reason that the reference prints of it. */
export const described = <S extends v.GenericSchema>(schema: S, reason: string) =>
  v.pipe(schema, v.description(reason))

/** A table that may be absent: then each of its options is at its default. */
export const section = <S extends v.GenericSchema>(schema: S) => v.optional(schema, {})

const isText = (value: unknown): value is string => typeof value === 'string'

/** Also the name of a folder, so nothing that a path could make something else of. */
export const id = leaf<string>(
  value => isText(value) && /^[a-z0-9][a-z0-9-]{0,31}$/.test(value),
  'up to 32 of a–z, 0–9 and -, not beginning with -',
)
/** Address of an account. */
export const pubkey = leaf<string>(value => isText(value) && isPubkey(value), 'a base58 public key')
/** URL that may hold a secret. */
export const endpoint = leaf<string>(
  value => isText(value) && /^https?:\/\//.test(value) && URL.canParse(value),
  'an http or https URL',
)
const isPeers = (value: string): boolean => {
  const [address = '', bits = '0', ...more] = value.split('/')
  const most = isIP(address) === 4 ? 32 : 128
  return isIP(address) !== 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most
}
/** One peer, or a range of them. */
export const peers = leaf<string>(
  value => isText(value) && isPeers(value),
  'an IP address, or address/bits',
)
/** What LMDB can use: pages for every table, and the address space that a process has. */
export const mapBytes = integer(1024 ** 2, 2 ** 46, 'bytes')
/** Slots of readers in a store. */
export const readersMax = integer(16, 32_768, 'count')
/** Where to listen. */
export const host = text('an address or a host name')
/** PEM of a private certificate authority. */
export const caFile = text('a file')

const isBase = (value: string): boolean =>
  /^https?:\/\//.test(value) && URL.canParse(value) && !/[?#@\s]/.test(value)
/**
 * A query or a user would be a secret in a place that is printed: that is what `credential` is for.
 */
export const base = leaf<string>(
  value => isText(value) && isBase(value),
  'an http or https URL without user, query and fragment',
)
/** Name of a header, or of a parameter of a query. */
export const headerName = leaf<string>(
  value => isText(value) && /^[A-Za-z0-9-]+$/.test(value),
  'a name of letters, digits and -',
)
/** What a header line can hold. */
export const credential = leaf<string>(
  value => isText(value) && /^[!-~]+$/.test(value),
  'a text of visible ASCII characters',
)
/** Path of a URL. */
export const path = leaf<string>(
  value => isText(value) && /^\/[!-~]*$/.test(value),
  'a path that begins with /',
)
/** The same, where there may be none. */
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
/** A path, a query or a user would be lost: the token follows the origin. */
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
/** Secrets and cookies travel there: https, or http that does not leave the machine. */
export const privateOrigin = leaf<string>(
  value => isText(value) && isPrivate(value) && isOrigin(value),
  'https://host, or http://host:port of loopback, with nothing after it',
)
/** The same with a path. */
export const privateBase = leaf<string>(
  value => isText(value) && isBase(value) && isPrivate(value),
  'an https URL, or http of loopback, without user, query and fragment',
)
