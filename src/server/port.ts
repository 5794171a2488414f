import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Where something listens. */
export type PortAddress = {
  readonly host: string
  readonly port: number
  /** Absent is TCP; a port of one is free for the other. */
  readonly protocol?: 'udp' | undefined
  /** The option that an operator changes where it cannot be listened on. */
  readonly option?: string | undefined
}

/**
 * Rejects with one line where the port is in use. uWebSockets shares ports (SO_REUSEPORT), so a
 * second service on the same port would start and silently take half of the connections.
 */
export const probePort = (address: PortAddress): Promise<void> =>
  address.protocol === 'udp' ? probeDatagrams(address) : probeConnections(address)

const probeConnections = (address: PortAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(describePort(address, error.code))),
    )
    const { host, port } = address
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()))
  })

const probeDatagrams = (address: PortAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    const { host, port } = address
    const probe = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4', reuseAddr: false })
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(describePort(address, error.code))),
    )
    probe.bind({ address: host, port, exclusive: true }, () => probe.close(() => resolve()))
  })

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'not permitted to use this port',
}

/** The name of an address among others. */
export const nameOfAddress = ({
  host,
  port,
  protocol,
}: Pick<PortAddress, 'host' | 'port' | 'protocol'>): string =>
  `${protocol === 'udp' ? 'udp ' : ''}${host}:${port}`

const UNKNOWN = 'the port is in use, or this machine has no such address'

/** One line for an operator: why the port cannot be listened on. */
export const describePort = (
  { host, port, protocol, option }: PortAddress,
  code: string | undefined,
): string => {
  const reason = code === undefined ? UNKNOWN : (REASONS[code] ?? code)
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const kind = protocol === 'udp' ? 'UDP ' : ''
  return `Cannot listen on ${kind}${where}${option === undefined ? '' : ` (${option})`}: ${reason}`
}
