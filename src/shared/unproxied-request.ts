/** Headers by which a proxy shows that it passes a request on. */
const FORWARDING_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
]
const HOST = /^[\w.:[\]-]+$/
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Names under which a listener may be asked directly, besides those of loopback. */
export const unproxiedHosts = (listenerHost: string, configured: readonly string[]) =>
  new Set([listenerHost, ...configured].map(toHostname))

/**
 * Whether a request comes straight from a client that knows this machine: without a header of a
 * proxy, which hides where it comes from, and under a name of loopback or one of `hosts`. A web
 * page whose name resolves to loopback (DNS rebinding) sends its own name.
 */
export const isUnproxiedRequest = (
  header: (name: string) => string | undefined,
  hosts: ReadonlySet<string>,
): boolean => {
  if (FORWARDING_HEADERS.some(name => header(name) !== undefined)) return false
  const given = header('host') ?? ''
  if (!HOST.test(given) || !URL.canParse(`http://${given}`)) return false
  const { hostname } = new URL(`http://${given}`)
  return LOOPBACK.test(hostname) || hosts.has(hostname)
}

/** As URLs have it: an IPv6 address in brackets, lower case. */
const toHostname = (host: string): string => {
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}`
  return URL.canParse(url) ? new URL(url).hostname : host
}
