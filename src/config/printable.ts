import { stringify } from 'smol-toml'
import { REDACTED } from '../shared/secret.js'
import { takeConstants } from './constants.js'
import { isVariable } from './secrets/secret-sources.js'
import { SECRETS } from './secrets/secrets.js'
import type { SecretPart } from './validators/validators.js'

const namesOf = (part: SecretPart): ReadonlySet<string> =>
  new Set(SECRETS.filter(secret => secret.part === part).map(({ keys }) => keys.at(-1) ?? ''))

/** Options that are secrets. */
const WHOLE = namesOf('all')
/** URLs that may contain a secret: some feeds have one in their path. */
const URLS = namesOf('url')
/** Paths after an upstream's URL: a query may contain a key that belongs in `credential`. */
const PATHS = namesOf('query')

/** An option's value with secrets removed. */
export const toPrintable = (key: string, value: unknown): unknown => {
  if (WHOLE.has(key)) return REDACTED
  if (PATHS.has(key) && typeof value === 'string') return value.replace(/\?.*$/s, `?${REDACTED}`)
  if (!URLS.has(key)) return value
  if (Array.isArray(value)) return value.map(url => toPrintable(key, url))
  if (typeof value !== 'string') return value
  const [, scheme = '', user = '', host = '', rest = ''] =
    /^([a-z]*:\/\/)([^/?#]*@)?([^/?#]*)\/?(.*)$/is.exec(value) ?? []
  return user === '' && rest === '' ? value : `${scheme}${host}/${REDACTED}`
}

/** A configuration as TOML: its options, with secrets removed. */
export const formatConfig = (config: object): string => {
  const printable: unknown = JSON.parse(
    JSON.stringify(config, (key, value: unknown) => toPrintable(key, value)),
  )
  takeConstants(printable)
  return stringify(printable)
}

/**
 * True if an option is a secret, or a URL or path with a part that is never printed. The name of
 * a variable in its place is none.
 */
export const holdsSecret = (config: unknown): boolean => {
  let isFound = false
  JSON.stringify(config, (key, value: unknown) => {
    if (typeof value === 'string' && isVariable(value)) return value
    const shown = toPrintable(key, value)
    isFound ||= JSON.stringify(shown) !== JSON.stringify(value)
    return value
  })
  return isFound
}
