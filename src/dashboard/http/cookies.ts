/** Reads and writes the cookies of the dashboard. */
export type Cookies = {
  /** The value of the cookie in a request header; undefined if it is absent or occurs twice. */
  read(header: string | undefined, kind: CookieKind): string | undefined
  /** The sign-ins that this browser has in progress: id → value. */
  signIns(header: string | undefined): ReadonlyMap<string, string>
  /** A Set-Cookie header. */
  write(kind: CookieKind, value: string, maxAgeMs: number): string
  clear(kind: CookieKind): string
}

/** Each sign-in in progress has a cookie of its own, so that tabs do not overwrite each other's. */
export type CookieKind = 'session' | 'signed-out' | `sign-in-${string}`

/**
 * `Strict` excludes the session from every cross-site request. The sign-in returns from another
 * site, so its cookie must be sent with that request.
 */
const sameSiteOf = (kind: CookieKind): string => (kind === 'session' ? 'Strict' : 'Lax')

/** The cookies of a header by name; undefined if a name occurs twice. */
const parse = (header: string): ReadonlyMap<string, string | undefined> => {
  const values = new Map<string, string | undefined>()
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals === -1) continue
    const name = pair.slice(0, equals).trim()
    // Of two cookies with one name, another site has set one, and which is unknown.
    values.set(name, values.has(name) ? undefined : pair.slice(equals + 1).trim())
  }
  return values
}

/**
 * With https the names start with `__Host-`, so that no other host, path or plain connection can
 * set them. Browsers reject that prefix with http, and share cookies among all ports of loopback,
 * so there the port is part of the name.
 */
export const createCookies = (publicUrl: URL): Cookies => {
  const isSecure = publicUrl.protocol === 'https:'
  const start = isSecure ? '__Host-slotline-' : 'slotline-'
  const end = isSecure ? '' : `-${publicUrl.port || '80'}`
  const nameOf = (kind: CookieKind): string => start + kind + end
  const format = (kind: CookieKind, value: string, maxAgeSeconds: number): string =>
    [
      `${nameOf(kind)}=${value}`,
      'Path=/',
      `Max-Age=${maxAgeSeconds}`,
      'HttpOnly',
      `SameSite=${sameSiteOf(kind)}`,
      ...(isSecure ? ['Secure'] : []),
    ].join('; ')
  return {
    read: (header = '', kind) => parse(header).get(nameOf(kind)),
    signIns: (header = '') => {
      const first = nameOf('sign-in-').slice(0, -end.length || undefined)
      const found = Array.from(parse(header)).flatMap(([name, value = '']) =>
        name.startsWith(first) && name.endsWith(end) && value !== ''
          ? [[name.slice(first.length, name.length - end.length), value] as const]
          : [],
      )
      return new Map(found)
    },
    write: (kind, value, maxAgeMs) => format(kind, value, Math.floor(maxAgeMs / 1_000)),
    clear: kind => format(kind, '', 0),
  }
}
