import type { Config } from './schema.js'

/** Port of a URL in which its scheme stands for it. */
const HTTPS_PORT = 443

/** Where this machine listens for the others of its cluster: one address, or none. */
export const peerListeners = ({
  cluster,
}: Pick<Config, 'cluster'>): readonly { readonly host: string; readonly port: number }[] => {
  if (cluster?.peerUrl === undefined) return []
  const { peerListen, peerUrl } = cluster
  const { hostname, port } = new URL(peerListen === undefined ? peerUrl : `https://${peerListen}`)
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || HTTPS_PORT) }]
}
