/** Cookies of this dashboard, and how they are named and written for its public URL. */
export type Cookies = {
  /** The value of the cookie in a request's header; undefined where it is absent or comes twice. */
  read(header: string | undefined, kind: CookieKind): string | undefined
  /** A Set-Cookie header. */
  write(kind: CookieKind, value: string, maxAgeMs: number): string
  clear(kind: CookieKind): string
}

export type CookieKind = 'session' | 'sign-in'

/**
 * `Strict` keeps the session from every request that another site began. The sign-in is come back
 * to from another site, so its cookie must be sent then.
 */
const SAME_SITE = { session: 'Strict', 'sign-in': 'Lax' } as const

/**
 * Under https names begin with `__Host-`: no other host, path or plain connection can set them. On
 * loopback http browsers take no such name; there cookies of all ports are shared, so the port is
 * part of the name.
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
      // Two of one name: somebody else set one, and which is ours cannot be told.
      return found.length === 1 ? found[0]?.slice(start.length) : undefined
    },
    write: (kind, value, maxAgeMs) => format(kind, value, Math.floor(maxAgeMs / 1_000)),
    clear: kind => format(kind, '', 0),
  }
}
