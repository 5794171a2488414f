/** Reads and writes the cookies of the dashboard. */
export type Cookies = {
  /** The value of the cookie in a request header; undefined if it is absent or occurs twice. */
  read(header: string | undefined, kind: CookieKind): string | undefined
  /** A Set-Cookie header. */
  write(kind: CookieKind, value: string, maxAgeMs: number): string
  clear(kind: CookieKind): string
}

export type CookieKind = 'session' | 'sign-in'

/**
 * `Strict` excludes the session from every cross-site request. The sign-in returns from another
 * site, so its cookie must be sent with that request.
 */
const SAME_SITE = { session: 'Strict', 'sign-in': 'Lax' } as const

/**
 * With https the names start with `__Host-`, so that no other host, path or plain connection can
 * set them. Browsers reject that prefix with http, and share cookies among all ports of loopback,
 * so there the port is part of the name.
 */
export const createCookies = (publicUrl: URL): Cookies => {
  const isSecure = publicUrl.protocol === 'https:'
  const nameOf = (kind: CookieKind): string =>
    isSecure ? `__Host-slotline-${kind}` : `slotline-${kind}-${publicUrl.port || '80'}`
  const format = (kind: CookieKind, value: string, maxAgeSeconds: number): string =>
    [
      `${nameOf(kind)}=${value}`,
      'Path=/',
      `Max-Age=${maxAgeSeconds}`,
      'HttpOnly',
      `SameSite=${SAME_SITE[kind]}`,
      ...(isSecure ? ['Secure'] : []),
    ].join('; ')
  return {
    read: (header = '', kind) => {
      const start = `${nameOf(kind)}=`
      const found = header
        .split(';')
        .map(pair => pair.trim())
        .filter(pair => pair.startsWith(start))
      // Of two cookies with one name, another site has set one, and which is unknown.
      return found.length === 1 ? found[0]?.slice(start.length) : undefined
    },
    write: (kind, value, maxAgeMs) => format(kind, value, Math.floor(maxAgeMs / 1_000)),
    clear: kind => format(kind, '', 0),
  }
}
